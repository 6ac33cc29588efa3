from __future__ import annotations

from collections.abc import Collection, Mapping

from pytest_brt.code.exports import ExportTable, submodules
from pytest_brt.code.facts import Definition, DefinitionKind, Facts, Import
from pytest_brt.code.layout import find_layout


def binds(
    *defined: str,
    stars: Collection[str] = (),
    listed: frozenset[str] | None = None,
    dynamic: bool = False,
) -> Facts:
    return Facts(
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


def table(files: Mapping[str, Facts]) -> ExportTable:
    return ExportTable(find_layout(files), files.__getitem__)


def test_what_a_star_import_takes() -> None:
    exports = table(
        {
            "p/__init__.py": binds("version", stars=["p.a", "p.b"]),
            "p/a.py": binds("one", "_two"),
            "p/b.py": binds("three", "four", listed=frozenset({"three", "_five"})),
        }
    ).of("p")
    assert exports.names >= {"version", "one", "three", "_five", "a", "b", "__file__"}
    assert exports.names.isdisjoint({"_two", "four"})
    assert exports.public == {"version", "one", "three"}
    assert exports.complete


def test_what_may_have_more_is_not_complete() -> None:
    names = table(
        {
            "p/__init__.py": binds(),
            "p/lazy.py": binds(dynamic=True),
            "p/taker.py": binds(stars=["p.lazy"]),
            "p/other.py": binds(stars=["numpy"]),
        }
    )
    complete = {name: names.of(name).complete for name in ("p", "p.lazy", "p.taker", "p.other")}
    assert complete == {"p": True, "p.lazy": False, "p.taker": False, "p.other": False}
    assert not names.of("numpy").complete
    assert names.of("numpy").names == frozenset()


def test_modules_that_import_each_other() -> None:
    names = table(
        {
            "p/__init__.py": binds(),
            "p/a.py": binds("one", stars=["p.b", "p.a"]),
            "p/b.py": binds("two", stars=["p.a"]),
        }
    )
    assert names.of("p.a").public == {"one", "two"}
    assert names.of("p.b").public == {"one", "two"}
    assert names.of("p.a").complete


def test_a_module_is_read_once() -> None:
    files = {"p/__init__.py": binds("one")}
    asked = []

    def read(path: str) -> Facts:
        asked.append(path)
        return files[path]

    names = ExportTable(find_layout(files), read)
    assert names.of("p") is names.of("p")
    assert asked == ["p/__init__.py"]


def test_submodules() -> None:
    layout = find_layout(["src/p/__init__.py", "src/p/a.py", "src/p/q/b.py", "src/other.py"])
    assert submodules("p", layout) == {"a", "q"}
    assert submodules("p.q", layout) == {"b"}
