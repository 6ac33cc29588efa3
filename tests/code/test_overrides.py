"""Methods of subclasses are found through the names of the bases."""

from __future__ import annotations

from pathlib import Path

from pytest_brt.code.index import open_index
from pytest_brt.code.overrides import overrides_of
from tests.trees import write_tree

FILES = {
    "pkg/__init__.py": "",
    "pkg/common.py": "class Shaping:\n    def join(self): ...\n\n    def only(self): ...\n",
    "pkg/dense.py": (
        "from pkg import common\n\n\nclass Base(common.Shaping, metaclass=type): ...\n\n\n"
        "class Dense(Base):\n    def join(self): ...\n"
    ),
    "pkg/other.py": "class Other:\n    def join(self): ...\n",
    "tests/test_a.py": (
        "from pkg.dense import Dense\n\n\nclass Mine(Dense):\n    def join(self): ...\n"
    ),
}


def test_only_what_is_below_counts(tmp_path: Path) -> None:
    write_tree(tmp_path, FILES)
    with open_index(tmp_path) as index:
        methods = {d.qualname: d for d in index.definitions_in("pkg/common.py")}
        (found,) = overrides_of(methods["Shaping.join"], index)
        assert (found.path, found.qualname) == ("pkg/dense.py", "Dense.join")
        assert overrides_of(methods["Shaping.only"], index) == ()
        assert overrides_of(methods["Shaping"], index) == ()
        (own,) = [d for d in index.definitions("Dense.join")]
        assert overrides_of(own, index) == ()
