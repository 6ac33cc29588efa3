from __future__ import annotations

from collections.abc import Collection, Mapping

from pytest_brt.code.exports import Exports, find_exports, submodules
from pytest_brt.code.file_facts import Definition, DefinitionKind, FileFacts, Import
from pytest_brt.code.layout import find_layout


def binds(
    *defined: str,
    stars: Collection[str] = (),
    listed: frozenset[str] | None = None,
    dynamic: bool = False,
) -> FileFacts:
    return FileFacts(
        definitions=tuple(
            Definition(name=name, qualname=name, kind=DefinitionKind.VARIABLE, line=1, end_line=1)
            for name in defined
        ),
        imports=tuple(
            Import(module=module, name="*", bound="*", line=1, top=True) for module in stars
        ),
        public=listed,
        dynamic=dynamic,
    )


def exports_of(module: str, files: Mapping[str, FileFacts]) -> Exports:
    return find_exports(module, find_layout(files), files.__getitem__)


def test_what_a_star_import_takes() -> None:
    exports = exports_of(
        "p",
        {
            "p/__init__.py": binds("version", stars=["p.a", "p.b"]),
            "p/a.py": binds("one", "_two"),
            "p/b.py": binds("three", "four", listed=frozenset({"three", "_five"})),
        },
    )
    assert exports.names >= {"version", "one", "three", "_five", "a", "b", "__file__"}
    assert exports.names.isdisjoint({"_two", "four"})
    assert exports.public == {"version", "one", "three"}
    assert exports.complete


def test_what_may_have_more_is_not_complete() -> None:
    files = {
        "p/__init__.py": binds(),
        "p/lazy.py": binds(dynamic=True),
        "p/taker.py": binds(stars=["p.lazy"]),
        "p/other.py": binds(stars=["numpy"]),
    }
    complete = {name: exports_of(name, files).complete for name in ("p", "p.lazy", "p.taker")}
    assert complete == {"p": True, "p.lazy": False, "p.taker": False}
    assert not exports_of("p.other", files).complete
    assert not exports_of("numpy", files).complete
    assert exports_of("numpy", files).names == frozenset()


def test_modules_that_import_each_other() -> None:
    files = {
        "p/__init__.py": binds(),
        "p/a.py": binds("one", stars=["p.b", "p.a"]),
        "p/b.py": binds("two", stars=["p.a"]),
    }
    assert exports_of("p.a", files).public == {"one", "two"}
    assert exports_of("p.b", files).public == {"one", "two"}
    assert exports_of("p.a", files).complete


def test_submodules() -> None:
    layout = find_layout(["src/p/__init__.py", "src/p/a.py", "src/p/q/b.py", "src/other.py"])
    assert submodules("p", layout) == {"a", "q"}
    assert submodules("p.q", layout) == {"b"}
