"""What the zygote does once, before it is forked for rows. Python 3.8+, pytest 6.2+.

It lets pytest run on tests of our own: what a first run loads, compiles and remembers (modules,
patterns, types of syntax trees, specialised bytecode) is then there for every test that follows,
instead of being made again in each. And it keeps what pytest makes of the tests' asserts, which it
would rewrite again in every cell: that is done in a process that ends before any code of the
project, or of a test, has run, so no test has a say in what another one is turned into.
"""

import ast
import base64
import logging
import marshal
import os
import resource
import shutil
import sys
import tempfile
import warnings

start = sys.modules["_brt_start"]

#: What tests usually do: pass, compare, raise, expect, print.
SOURCE = """\
import pytest


def test_pass(capsys):
    print("text")
    assert capsys.readouterr().out == "text\\\\n"


def test_compare():
    assert [1, 2, {"a": 1}] == [1, 3, {"b": 2}]


def test_text():
    assert "one\\\\ntwo" == "one\\\\nthree"


def test_raise():
    int("x")


def test_expect():
    with pytest.raises(ValueError, match="x"):
        int("x")


def test_nothing_raised():
    with pytest.raises(ValueError):
        pass


@pytest.mark.parametrize("value", [1, 2])
def test_values(value, monkeypatch):
    assert value
"""


#: pytest's options when it runs these.
OPTIONS = (
    "-o", "addopts=", "-p", "no:cacheprovider", "-p", "no:faulthandler", "--tb=short", "-q",
    "-c", os.path.join(start.HERE, "empty.ini"),
)  # fmt: skip
#: Lists of the interpreter that a run of pytest changes.
LISTS = (
    (sys, "path"),
    (sys, "meta_path"),
    (sys, "path_hooks"),
    (sys, "argv"),
    (warnings, "filters"),
    (logging.getLogger(), "handlers"),
)


def rehearse(packages):
    """Run pytest on a few tests of ours, in silence, and put everything back that this changed."""
    import pytest

    folder = tempfile.mkdtemp(prefix="brt-rehearsal-")
    lists = [list(getattr(owner, name)) for owner, name in LISTS]
    environ, level, here = dict(os.environ), logging.getLogger().level, os.getcwd()
    quiet = os.open(os.devnull, os.O_WRONLY)
    saved = [os.dup(number) for number in (1, 2)]
    try:
        for number in (1, 2):
            os.dup2(quiet, number)
        path = os.path.join(folder, "test_brt_rehearsal.py")
        with open(path, "w", encoding="utf-8") as stream:
            stream.write(SOURCE)
        os.chdir(folder)
        probe = start.load("probe").Probe(start.Wire(quiet), packages)
        pytest.main([path, "--rootdir", folder, "--confcutdir", folder, *OPTIONS], plugins=[probe])
    finally:
        for number, descriptor in zip((1, 2), saved):
            os.dup2(descriptor, number)
            os.close(descriptor)
        os.close(quiet)
        os.chdir(here)
        for (owner, name), before in zip(LISTS, lists):
            getattr(owner, name)[:] = before
        os.environ.clear()
        os.environ.update(environ)
        logging.getLogger().setLevel(level)
        sys.modules.pop("test_brt_rehearsal", None)
        sys.path_importer_cache.clear()
        for name in ("last_type", "last_value", "last_traceback", "last_exc"):
            if hasattr(sys, name):
                delattr(sys, name)
        shutil.rmtree(folder, ignore_errors=True)
        tempfile.tempdir = None


#: What no source of a test should take, in CPU seconds: they do not depend on other work.
PATIENCE = 20
#: Tests that are remembered: more than any run of an engine asks for again.
KEPT = 1000


class Rewritten:
    """The code of tests, by path and source; None where pytest is to do it itself."""

    def __init__(self, root):
        self.root = root
        self.codes = {}

    def learn(self, tests):
        """Rewrite what is new of `tests`: path in the tree and source in base64 of each."""
        named = [
            (os.path.join(self.root, test["path"]), base64.b64decode(test["content"]))
            for test in tests
        ]
        new = [key for key in dict.fromkeys(named) if key not in self.codes]
        if not new:
            return
        if len(self.codes) + len(new) > KEPT:
            self.codes.clear()
        self.codes.update(zip(new, _apart(new)))

    def install(self):
        """Let pytest take from here what is known; for the process of a row."""
        from _pytest.assertion import rewrite

        original = getattr(rewrite, "_rewrite_test", None)
        if original is None or not sys.dont_write_bytecode:
            return

        def rewritten(path, config):
            with open(path, "rb") as stream:
                code = self.codes.get((str(path), stream.read()))
            if code is None or config.getini("enable_assertion_pass_hook"):
                return original(path, config)
            return None, code  # the first is for bytecode that would be written

        rewrite._rewrite_test = rewritten


def _apart(sources):
    """Return the code of each source, made in a child: the compiler too may crash."""
    reader, writer = os.pipe()
    pid = os.fork()
    if pid == 0:
        resource.setrlimit(resource.RLIMIT_CPU, (PATIENCE, PATIENCE))
        try:
            os.close(reader)
            with open(writer, "wb") as stream:
                stream.write(marshal.dumps([_rewrite(*source) for source in sources]))
        finally:
            os._exit(0)
    os.close(writer)
    with open(reader, "rb") as stream:
        data = stream.read()
    os.waitpid(pid, 0)
    try:
        return marshal.loads(data)
    except (EOFError, ValueError, TypeError):  # the child died of one of them
        return [None] * len(sources)


def _rewrite(path, source):
    """Return the code as pytest makes it; None if that fails, or brings a warning to show."""
    from _pytest.assertion import rewrite

    try:
        with warnings.catch_warnings(record=True) as remarks:
            warnings.simplefilter("always")
            tree = ast.parse(source, filename=path)
            rewrite.rewrite_asserts(tree, source, path)
            code = compile(tree, path, "exec", dont_inherit=True)
    except Exception:  # whatever it is: pytest will say it of the test itself
        return None
    return None if remarks else code
