"""Runs statements one by one. Runs in the project: Python 3.8+."""

import ast
import asyncio
import builtins
import io
import linecache
import os
import sys
import tempfile
import types
import warnings

start = sys.modules["_brt_start"]
describe = start.load("describe")
watch = start.load("watch")

#: What all statements are called as a file.
NAME = "<report>"
TEXT_LIMIT = 20000
AWAIT = ast.PyCF_ALLOW_TOP_LEVEL_AWAIT
IS_COROUTINE = 0x80
FUTURES = 0x1FE0000 | 0x2000 | 0x4000 | 0x8000 | 0x10000


class Capture:
    """What is printed on descriptor 1, Python's own and any library's."""

    def __init__(self):
        self.file = tempfile.TemporaryFile(buffering=0)
        os.dup2(self.file.fileno(), 1)
        stream = open(1, "wb", 0, closefd=False)
        sys.stdout = io.TextIOWrapper(stream, "utf-8", "backslashreplace", write_through=True)

    def take(self):
        """Return what was printed since the last call."""
        self.file.seek(0)
        text = self.file.read(TEXT_LIMIT * 4).decode("utf-8", "replace")[:TEXT_LIMIT]
        self.file.seek(0)
        self.file.truncate()
        return text


class Database:
    """Django's test databases, made as its test runner makes them when one is first asked.

    SQLite's lie in memory then; the project's own file is left alone.
    """

    def __init__(self):
        self.was_used = False
        self.may_be_used = False

    def prepare(self):
        """Set Django up, and watch for connections, and for what may lead to one."""
        import django
        from django.core.signals import request_started
        from django.db.backends.base.base import BaseDatabaseWrapper
        from django.db.models.signals import pre_init
        from django.test.utils import setup_databases, setup_test_environment

        django.setup()
        setup_test_environment()
        connect = BaseDatabaseWrapper.ensure_connection
        made = []

        def ensure_connection(connection):
            self.was_used = True
            if not made:
                made.append(True)
                setup_databases(verbosity=0, interactive=False)
            connect(connection)

        BaseDatabaseWrapper.ensure_connection = ensure_connection
        # A tree without the bug may get further than this one does.
        request_started.connect(self.note, weak=False)
        pre_init.connect(self.note, weak=False)

    def note(self, sender, **words):
        """Keep that a request was made, or an object of a model."""
        self.may_be_used = True


def set_filter(line):
    """Do with warnings what a line of pytest's ``filterwarnings`` says, as tests see them."""
    action, message, kind, module = (line + ":::").split(":")[:4]
    category = getattr(builtins, kind.strip() or "Warning", None)
    try:
        warnings.filterwarnings(action.strip(), message.strip(), category, module.strip())
    except (AssertionError, TypeError, ValueError):
        return  # about a warning of a package, which is not imported for it


class Session:
    """One namespace, and the statements that run in it."""

    def __init__(self, order, events):
        self.send = events.send
        self.packages = order["packages"]
        # Some code looks at its own source.
        lines = "".join(source + "\n" for source in order["statements"]).splitlines(True)
        linecache.cache[NAME] = (0, None, lines, NAME)
        self.line = 0
        self.flags = 0
        self.loop = None
        sys.modules["__main__"] = types.ModuleType("__main__")
        self.space = vars(sys.modules["__main__"])
        self.space.update(__builtins__=__builtins__, __file__=NAME)
        self.capture = Capture()
        for line in order["warnings"]:
            set_filter(line)
        self.database = Database()
        if "DJANGO_SETTINGS_MODULE" in os.environ:
            try:
                self.database.prepare()
            except Exception as error:
                # The statements that need Django raise by themselves what is wrong.
                sys.stderr.write("%s: %s\n" % (type(error).__name__, error))
            self.capture.take()

    def run(self, index, source):
        """Run statement number `index` and tell what it did."""
        self.database.was_used = self.database.may_be_used = False
        self.send("statement")
        raised = value = None
        try:
            value = self.execute("\n" * self.line + source)
        except BaseException as error:
            raised = describe.describe(error, self.packages)
        self.line += source.count("\n") + 1
        observed = {
            "index": index,
            "value": value,
            "stdout": self.capture.take(),
            "database": self.database.was_used,
            "may_ask": self.database.may_be_used,
        }
        self.send("observed", observed=observed, raised=raised)

    def execute(self, source):
        """Run a statement, and return its value as text where it is an expression."""
        flags = self.flags | AWAIT
        tree = compile(source, NAME, "exec", flags | ast.PyCF_ONLY_AST, True)
        is_expression = len(tree.body) == 1 and isinstance(tree.body[0], ast.Expr)
        if is_expression:
            tree = ast.Expression(tree.body[0].value)
        code = compile(tree, NAME, "eval" if is_expression else "exec", flags, True)
        self.flags |= code.co_flags & FUTURES
        value = eval(code, self.space)
        if code.co_flags & IS_COROUTINE:
            self.loop = self.loop or asyncio.new_event_loop()
            value = self.loop.run_until_complete(value)
        return self.show(value) if is_expression else None

    def show(self, value):
        """Return a value as text, and whether that, evaluated, gives an equal one again."""
        if value is not None:
            self.space["_"] = value
        shown = {"type": describe.type_name(type(value)), "is_none": value is None}
        for name, convert in (("repr", repr), ("text", str)):
            shown[name] = self.attempt(lambda convert=convert: convert(value)[:TEXT_LIMIT]) or ""
        shown["evaluable"] = len(shown["repr"]) < TEXT_LIMIT and bool(
            self.attempt(lambda: bool(eval(shown["repr"], dict(self.space)) == value))
        )
        return shown

    @staticmethod
    def attempt(work):
        """Return what `work` does, None when it raises: whatever code of the project may."""
        try:
            return work()
        except BaseException:
            return None


def main(order, events):
    """Run what the order says in a folder that is empty, telling of each statement as it ends."""
    folder = os.path.join(tempfile.gettempdir(), "work")
    os.makedirs(folder, exist_ok=True)
    os.chdir(folder)
    sys.argv[:] = [""]
    sys.path.insert(0, "")
    session = Session(order, events)
    calls = None
    for index, source in enumerate(order["statements"]):
        if index == order["calls_from"]:
            calls = watch.Calls(order["packages"], keeps_all=True)
        session.run(index, source)
    events.send("finish", called=calls.end() if calls else [])
    os._exit(0)
