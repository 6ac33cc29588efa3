"""What the zygote does once, before it is forked for rows. Python 3.8+, pytest 6.2+.

It lets pytest run on tests of our own: what a first run loads, compiles and remembers (modules,
patterns, types of syntax trees, specialised bytecode) is then there for every test that follows,
instead of being made again in each.
"""

import gc
import os
import shutil
import sys
import tempfile

start = sys.modules["_brt_start"]

#: What tests usually do: pass, compare, raise, expect, print.
SOURCE = """\
import pytest


def test_pass(capsys):
    print("text")
    assert capsys.readouterr().out == "text\\n"


@pytest.mark.parametrize("one, other", [(1, 1), ([1, {"a": 1}], [3, {"b": 2}]), ("a\\nb", "a\\nc")])
def test_compare(one, other, monkeypatch):
    assert one == other


def test_raise():
    int("x")


def test_expect():
    with pytest.raises(ValueError, match="x"):
        int("x")


def test_nothing_raised():
    with pytest.raises(ValueError):
        pass
"""
#: pytest's options when it runs these.
OPTIONS = (
    "-o", "addopts=", "-p", "no:cacheprovider", "-p", "no:faulthandler", "--tb=short", "-q",
    "-c", os.path.join(start.HERE, "empty.ini"),
)  # fmt: skip


def rehearse(packages):
    """Run pytest on a few tests of ours, in silence, and put back what it leaves changed.

    With pytest 6.2 to 9.2 that is all that follows.
    """
    import pytest

    gc.freeze()  # pytest ends by looking at all objects, five times over
    folder = tempfile.mkdtemp(prefix="brt-rehearsal-")
    import_path, here = list(sys.path), os.getcwd()
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
        sys.path[:] = import_path
        sys.modules.pop("test_brt_rehearsal", None)
        sys.path_importer_cache.clear()
        for name in ("last_type", "last_value", "last_traceback", "last_exc"):
            if hasattr(sys, name):
                delattr(sys, name)
        shutil.rmtree(folder, ignore_errors=True)
        tempfile.tempdir = None
