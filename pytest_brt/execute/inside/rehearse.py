"""Lets pytest run once on tests of our own before it is forked. Python 3.8+, pytest 6.2+.

What a first run loads, compiles and remembers (modules, patterns, types of syntax trees,
specialised bytecode) is then there for every test that follows, instead of being made again
in each. No code of the project takes part.
"""

import logging
import os
import shutil
import sys
import tempfile
import warnings

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


def rehearse(options, probe):
    """Run pytest on a few tests of ours, and put everything back that this changed."""
    import pytest

    folder = tempfile.mkdtemp(prefix="brt-rehearsal-")
    kept = _Kept()
    here = os.getcwd()
    try:
        path = os.path.join(folder, "test_brt_rehearsal.py")
        with open(path, "w", encoding="utf-8") as stream:
            stream.write(SOURCE)
        os.chdir(folder)
        pytest.main([path, "--rootdir", folder, "--confcutdir", folder, *options], plugins=[probe])
    finally:
        os.chdir(here)
        kept.restore()
        shutil.rmtree(folder, ignore_errors=True)
        tempfile.tempdir = None


class _Kept:
    """The state of the interpreter that a run of pytest touches."""

    def __init__(self):
        self.path = list(sys.path)
        self.meta_path = list(sys.meta_path)
        self.path_hooks = list(sys.path_hooks)
        self.argv = list(sys.argv)
        self.environ = dict(os.environ)
        self.filters = list(warnings.filters)
        self.handlers = list(logging.getLogger().handlers)
        self.level = logging.getLogger().level

    def restore(self):
        """Put it back."""
        sys.path[:] = self.path
        sys.meta_path[:] = self.meta_path
        sys.path_hooks[:] = self.path_hooks
        sys.argv[:] = self.argv
        os.environ.clear()
        os.environ.update(self.environ)
        warnings.filters[:] = self.filters
        logging.getLogger().handlers[:] = self.handlers
        logging.getLogger().setLevel(self.level)
        sys.modules.pop("test_brt_rehearsal", None)
        sys.path_importer_cache.clear()
        for name in ("last_type", "last_value", "last_traceback", "last_exc"):
            if hasattr(sys, name):
                delattr(sys, name)
