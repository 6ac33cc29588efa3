"""How a name may be imported, the likeliest way first."""

from __future__ import annotations

from pytest_brt.project.imports import (
    import_candidates,
    project_candidates,
    standard_candidates,
)
from pytest_brt.pysource.names import uses_in


def test_a_module_is_meant_where_only_it_has_what_is_asked_of_it() -> None:
    use = uses_in("json.loads('1')")["json"]
    assert next(import_candidates("json", ["pkg"], ["pkg"], use)) == "import json"
    use = uses_in("json.dump_all('1')")["json"]
    assert list(import_candidates("json", ["pkg"], ["pkg"], use)) == ["from pkg import json"]
    use = uses_in("json.loads('1')")["json"]
    assert next(standard_candidates("json", use)) == "import json"


def test_of_a_package_that_is_called_its_function_is_meant() -> None:
    use = uses_in("parse('a')")["parse"]
    own = import_candidates("parse", ["parse"], ["parse"], use)
    assert next(own) == "from parse import parse"
    assert next(import_candidates("parse", ["parse"], [], use)) == "import parse"


def test_one_definition_comes_before_what_is_usual() -> None:
    usual = ["from p import twice"]
    found = project_candidates("twice", ["p.a.b", "p.a"], usual)
    assert list(found) == ["from p.a import twice", *usual]
    assert list(project_candidates("twice", ["p.a", "p.b"], usual)) == usual
