"""Runs statements one by one. Runs in the project: Python 3.8+."""

import ast
import asyncio
import codeop
import inspect
import io
import linecache
import os
import sys
import tempfile
import types

import _brt_observe as observe

#: What all statements are called as a file.
NAME = "<report>"
TEXT_LIMIT = 20000


def prepare_database():
    """Set Django up, with test databases as its test runner makes them when one is first asked.

    SQLite's lie in memory then; the project's own file is left alone. Returns that it did so.
    """
    import django
    from django.db.backends.base.base import BaseDatabaseWrapper
    from django.test.utils import setup_databases, setup_test_environment

    django.setup()
    setup_test_environment()
    connect = BaseDatabaseWrapper.ensure_connection

    def ensure_connection(connection):
        BaseDatabaseWrapper.ensure_connection = connect
        setup_databases(verbosity=0, interactive=False)
        connect(connection)

    BaseDatabaseWrapper.ensure_connection = ensure_connection
    return True


class Session:
    """One namespace, and the statements that run in it."""

    def __init__(self, order, send):
        self.send = send
        self.packages = order["packages"]
        # Some code looks at its own source.
        lines = "".join(source + "\n" for source in order["statements"]).splitlines(True)
        linecache.cache[NAME] = (0, None, lines, NAME)
        self.line = 0
        self.compile = codeop.Compile()  # it keeps what is imported from the future
        self.compile.flags = ast.PyCF_ALLOW_TOP_LEVEL_AWAIT
        self.loop = None
        # Without it, the statements that need Django raise by themselves what is wrong.
        is_django = "DJANGO_SETTINGS_MODULE" in os.environ
        self.has_database = is_django and self.attempt(prepare_database) is not None
        self.printed = io.BytesIO()
        sys.stdout = io.TextIOWrapper(
            self.printed, "utf-8", "backslashreplace", write_through=True
        )
        sys.modules["__main__"] = types.ModuleType("__main__")
        self.space = vars(sys.modules["__main__"])
        self.space.update(__builtins__=__builtins__, __file__=NAME)
        if order["warnings"]:
            # Here, as it costs what a session may not need.
            from _pytest.config import apply_warning_filters

            apply_warning_filters(order["warnings"], [])

    def run(self, source):
        """Run a statement and tell what it did."""
        self.send("statement")
        raised = value = None
        try:
            value = self.execute("\n" * self.line + source + "\n")
        except BaseException as error:
            raised = observe.describe(error, self.packages)["raised"]
        self.line += source.count("\n") + 1
        observed = {
            "value": value,
            "stdout": self.take_printed(),
            "database": self.has_database,
            "raised": raised,
        }
        self.send("observed", observed=observed)

    def take_printed(self):
        """Return what was printed since the last call."""
        text = self.printed.getvalue().decode("utf-8", "replace")[:TEXT_LIMIT]
        self.printed.seek(0)
        self.printed.truncate()
        return text

    def execute(self, source):
        """Run a statement, and return its value as text where it is an expression."""
        mode = "eval"
        try:
            code = self.compile(source, NAME, mode)
        except SyntaxError:
            mode = "exec"
            code = self.compile(source, NAME, mode)
        value = eval(code, self.space)
        if code.co_flags & inspect.CO_COROUTINE:
            self.loop = self.loop or asyncio.new_event_loop()
            value = self.loop.run_until_complete(value)
        return self.show(value) if mode == "eval" else None

    def show(self, value):
        """Return a value as text, and whether that, evaluated, gives an equal one again."""
        if value is not None:
            self.space["_"] = value
        text = self.attempt(lambda: repr(value)[:TEXT_LIMIT]) or ""
        is_equal = self.attempt(lambda: bool(eval(text, dict(self.space)) == value))
        return {
            "type": observe.type_name(type(value)),
            "repr": text,
            "evaluable": len(text) < TEXT_LIMIT and bool(is_equal),
        }

    @staticmethod
    def attempt(work):
        """Return what `work` does, None when it raises: whatever code of the project may."""
        try:
            return work()
        except BaseException:
            return None


def main(order, send):
    """Run what the order says in a folder that is empty, telling of each statement as it ends."""
    folder = os.path.join(tempfile.gettempdir(), "work")
    os.mkdir(folder)
    os.chdir(folder)
    sys.argv[:] = [""]
    sys.path.insert(0, "")
    session = Session(order, send)
    calls = None
    for index, source in enumerate(order["statements"]):
        if index == order["calls_from"]:
            calls = observe.Calls(order["packages"], keeps_all=True)
        session.run(source)
    send("finish", called=calls.end() if calls else [])
    os._exit(0)
