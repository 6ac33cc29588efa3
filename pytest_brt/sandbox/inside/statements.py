"""Runs statements one by one. Runs in the project: Python 3.8+."""

import ast
import builtins
import io
import os
import sys
import tempfile
import threading
import time
import types
import warnings

start = sys.modules["_brt_start"]
describe = start.load("describe")

REPR_LIMIT = 20000
OUTPUT_LIMIT = 20000
AWAIT = getattr(ast, "PyCF_ALLOW_TOP_LEVEL_AWAIT", 0)
IS_COROUTINE = 0x80
FUTURES = 0x1FE0000 | 0x2000 | 0x4000 | 0x8000 | 0x10000


class Capture:
    """What is printed on descriptors 1 and 2, Python's own and any library's."""

    def __init__(self):
        self.files = [tempfile.TemporaryFile(buffering=0) for _ in range(2)]
        for number, file in zip((1, 2), self.files):
            os.dup2(file.fileno(), number)
        sys.stdout, sys.stderr = (
            io.TextIOWrapper(
                os.fdopen(number, "wb", 0, closefd=False),
                encoding="utf-8",
                errors="backslashreplace",
                write_through=True,
            )
            for number in (1, 2)
        )

    def take(self):
        """Return what was printed since the last call, on each."""
        texts = []
        for stream, file in zip((sys.stdout, sys.stderr), self.files):
            try:
                stream.flush()
            except (ValueError, OSError, AttributeError):
                pass  # a statement closed or replaced the stream: what was written is in the file
            file.seek(0)
            texts.append(file.read(OUTPUT_LIMIT * 4).decode("utf-8", "replace")[:OUTPUT_LIMIT])
            file.seek(0)
            file.truncate()
        return texts


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


class Calls:
    """Notes the functions that are called from here on; what with does not matter."""

    def __init__(self):
        self.codes = {}
        threading.setprofile(self.note)
        sys.setprofile(self.note)

    def note(self, frame, event, argument):
        """Keep the code of each call, once."""
        if event == "call":
            self.codes[id(frame.f_code)] = frame.f_code

    def end(self):
        """Stop, and return the file and first line of each function."""
        sys.setprofile(None)
        threading.setprofile(None)
        codes = list(self.codes.values())
        return sorted({(code.co_filename, code.co_firstlineno) for code in codes})


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

    def __init__(self, events, packages, statements, filters):
        self.events = events
        # A file with all of them, as a person runs them: some code looks at its own source.
        self.path = os.path.join(tempfile.mkdtemp(), "report.py")
        with open(self.path, "w", encoding="utf-8", errors="surrogatepass") as stream:
            stream.write("".join(source + "\n" for source in statements))
        self.line = 0
        self.packages = frozenset(packages)
        self.own_files = start.own_files()
        self.flags = 0
        self.loop = None
        self.database = Database()
        module = types.ModuleType("__main__")
        module.__file__ = self.path
        module.__dict__["__builtins__"] = __builtins__
        sys.modules["__main__"] = module
        self.space = module.__dict__
        self.capture = Capture()
        for line in filters:
            set_filter(line)
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
        self.events.send("statement", index=index)
        begin = time.perf_counter()
        raised = value = None
        has_value = False
        try:
            has_value, value = self.execute("\n" * self.line + source)
            if has_value and value is not None:
                self.space["_"] = value
        except BaseException as error:
            raised = describe.describe(error, self.packages, self.own_files)
            for frame in raised["frames"]:
                frame[0] = frame[0].replace(self.path, "<report>")
        self.line += source.count("\n") + 1
        shown = self.show(value) if has_value and raised is None else None
        stdout, stderr = self.capture.take()
        self.events.send(
            "observed",
            observed={
                "index": index,
                "value": shown,
                "stdout": stdout,
                "stderr": stderr,
                "database": self.database.was_used,
                "may_ask": self.database.may_be_used,
                "seconds": time.perf_counter() - begin,
            },
            raised=raised,
        )
        if shown is not None and self.is_evaluable(value, shown["repr"]):
            self.events.send("evaluable", index=index)
        self.capture.take()

    def execute(self, source):
        """Return whether the statement is an expression, and its value."""
        tree = compile(source, self.path, "exec", self.flags | ast.PyCF_ONLY_AST | AWAIT, True)
        is_expression = len(tree.body) == 1 and isinstance(tree.body[0], ast.Expr)
        if is_expression:
            tree = ast.Expression(tree.body[0].value)
        mode = "eval" if is_expression else "exec"
        code = compile(tree, self.path, mode, self.flags | AWAIT, True)
        self.flags |= code.co_flags & FUTURES
        return is_expression, self.settle(eval(code, self.space), code)

    def settle(self, value, code):
        """Return the value, awaited when the statement used ``await`` at top level."""
        if not code.co_flags & IS_COROUTINE:
            return value
        import asyncio

        if self.loop is None:
            self.loop = asyncio.new_event_loop()
        return self.loop.run_until_complete(value)

    def show(self, value):
        """Return a value as text."""
        return {
            "type": describe.type_name(type(value)),
            "repr": self.text(value, repr),
            "text": self.text(value, str),
            "is_none": value is None,
        }

    @staticmethod
    def text(value, convert):
        """Return `convert(value)` cut to size, "" when it raises."""
        try:
            text = convert(value)
            return text[:REPR_LIMIT] if isinstance(text, str) else ""
        except BaseException:  # whatever the subject's code raises: it has no text then
            return ""

    def is_evaluable(self, value, text):
        """Return whether the text, evaluated, gives an equal value again."""
        if not text or len(text) >= REPR_LIMIT:
            return False
        try:
            return bool(eval(text, dict(self.space)) == value)
        except BaseException:  # whatever the subject's code raises: it is not evaluable then
            return False


def main(order, events):
    """Run what the order says in a folder that is empty, telling of each statement as it ends."""
    folder = os.path.join(tempfile.gettempdir(), "work")
    os.makedirs(folder, exist_ok=True)
    os.chdir(folder)
    sys.argv[:] = [""]
    sys.path.insert(0, "")
    session = Session(events, order["packages"], order["statements"], order["warnings"])
    calls = None
    for index, source in enumerate(order["statements"]):
        if index == order["calls_from"]:
            calls = Calls()
        session.run(index, source)
    events.send("finish", code=0, called=calls.end() if calls else [])
    os._exit(0)
