from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_brt.project.layout import escapes_root, find_layout, is_test_path, scan_tree
from pytest_brt.project.pytest_config import USUAL, CollectionPatterns

FLAT = ["setup.py", "pkg/__init__.py", "pkg/a.py", "pkg/sub/__init__.py", "tests/test_a.py"]
SRC = [
    "src/pkg/__init__.py",
    "src/pkg/a.py",
    "tests/__init__.py",
    "tests/test_a.py",
    "docs/conf.py",
]


def test_flat() -> None:
    layout = find_layout(FLAT)
    assert layout.roots == ("",)
    assert layout.module_of("pkg/sub/__init__.py") == "pkg.sub"
    assert layout.module_of("tests/test_a.py") == "test_a"
    assert layout.path_of("pkg.a") == "pkg/a.py"
    assert layout.path_of("pkg.b") is None
    assert layout.packages() == ("pkg",)


def test_src() -> None:
    layout = find_layout(SRC)
    assert layout.roots == ("src", "")
    assert layout.module_of("src/pkg/a.py") == "pkg.a"
    assert layout.module_of("tests/test_a.py") == "tests.test_a"
    assert layout.path_of("pkg") == "src/pkg/__init__.py"
    assert layout.packages() == ("pkg",)


def test_namespace_package_below_src() -> None:
    layout = find_layout(["src/ns/pkg/__init__.py", "src/ns/pkg/a.py"])
    assert layout.module_of("src/ns/pkg/a.py") == "ns.pkg.a"
    assert layout.path_of("ns.pkg.a") == "src/ns/pkg/a.py"


def test_lone_module() -> None:
    files = ["six.py", "setup.py", "test_six.py"]
    assert find_layout(files).packages() == ("six",)
    assert find_layout(files, ["."]).packages() == ("six",)


def test_package_called_lib_is_no_root() -> None:
    layout = find_layout(["lib/__init__.py", "lib/a.py"])
    assert layout.module_of("lib/a.py") == "lib.a"


def test_tests_are_told_from_product() -> None:
    assert is_test_path("testing/test_x.py")
    assert not is_test_path("pkg/testing/path.py")
    assert is_test_path("pkg/core/tests/__init__.py")
    assert not is_test_path("pkg/latest.py")


def test_what_is_collected_is_told_by_names_and_patterns() -> None:
    assert USUAL.has_file("a/b_test.py")
    assert USUAL.has_file("cart/tests.py")
    assert not USUAL.has_file("a/test.txt")
    own = CollectionPatterns(
        files=("check_*.py", "specs/*.py"), classes=("*Spec",), functions=("it_",)
    )
    assert own.has_file("a/check_x.py")
    assert own.has_file("specs/a.py")
    assert not own.has_file("a/test_x.py")
    assert [name for name in ("CartSpec", "TestCart") if own.has_class(name)] == ["CartSpec"]
    assert [name for name in ("it_adds", "test_adds") if own.has_function(name)] == ["it_adds"]


TREE = [
    "pkg/__init__.py",
    "pkg/core/__init__.py",
    "pkg/core/basic.py",
    "pkg/tests/test_basic.py",
    "pkg/other/__init__.py",
    "pkg/other/basic.py",
    "pkg/util.py",
]


@pytest.mark.parametrize(
    ("reported", "expected"),
    [
        ("/usr/lib/python3.9/site-packages/pkg/core/basic.py", "pkg/core/basic.py"),
        ("/home/me/code/pkg/pkg/core/basic.py", "pkg/core/basic.py"),
        ("pkg/core/basic.py", "pkg/core/basic.py"),
        (".../core/basic.py", "pkg/core/basic.py"),
        ("util.py", "pkg/util.py"),
        ("basic.py", None),
        ("/usr/lib/python3.9/site-packages/numpy/core/basic.py", None),
        ("/usr/lib/python3.9/util.py", None),
        ("/home/me/mine/util.py", None),
        ("<stdin>", None),
        ("", None),
    ],
)
def test_paths_are_found(reported: str, expected: str | None) -> None:
    assert find_layout(TREE).find_path(reported) == expected


def test_src_layout() -> None:
    layout = find_layout(["src/_pkg/__init__.py", "src/_pkg/a.py"])
    assert layout.find_path("/x/site-packages/_pkg/a.py") == "src/_pkg/a.py"
    assert layout.find_path("/home/me/pkg/src/_pkg/a.py") == "src/_pkg/a.py"


NAMES = st.sampled_from(["a", "b", "src", "lib", "tests", "__init__", "test_x"])
PATHS = st.lists(NAMES, min_size=1, max_size=4).map(lambda parts: "/".join(parts) + ".py")


@given(st.sets(PATHS, max_size=12))
def test_a_module_name_leads_back_to_a_file_of_that_name(files: set[str]) -> None:
    layout = find_layout(files)
    for path in files:
        module = layout.module_of(path)
        found = layout.path_of(module) if module else path
        if layout.root_of(path) in layout.roots and module:
            assert found is not None
            assert layout.module_of(found) == module


def test_environments_are_left_out(tmp_path: Path) -> None:
    for folder in ("env/tests", "pkg"):
        (tmp_path / folder).mkdir(parents=True)
        (tmp_path / folder / "core.py").write_text("", "utf-8")
    assert set(scan_tree(tmp_path)) == {"pkg/core.py"}


def test_links_that_lead_out_are_not_the_projects(tmp_path: Path) -> None:
    root = tmp_path / "project"
    (root / "pkg").mkdir(parents=True)
    (root / "pkg" / "core.py").write_text("a = 1\n", encoding="utf-8")
    (tmp_path / "secret.py").write_text("key = 1\n", encoding="utf-8")
    (root / "pkg" / "notes.py").symlink_to(tmp_path / "secret.py")
    (root / "pkg" / "same.py").symlink_to("core.py")
    (root / "out").symlink_to(tmp_path)
    assert set(scan_tree(root)) == {"pkg/core.py", "pkg/same.py"}
    assert escapes_root(root, "pkg/notes.py")
    assert escapes_root(root, "out/secret.py")
    assert escapes_root(root, "../secret.py")
    assert not escapes_root(root, "pkg/same.py")
    assert not escapes_root(root, "pkg/new.py")
