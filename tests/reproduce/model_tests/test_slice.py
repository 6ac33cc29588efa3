"""The inputs of what failed stay, whatever the failure says without them."""

from __future__ import annotations

import ast

from pytest_brt.reproduce.model_tests.small import needed, still_has

SOURCE = """\
from pkg import App, run


def test_listing(tmp_path):
    app = App()
    app.config["NAME"] = "local"
    other = App()

    @app.route("/home", domain="admin")
    def home():
        return ""

    with run(app) as result:
        assert result.ok
        lines = result.lines
        assert "admin" in lines
    other.close()
"""
AT = 16


def kept(source: str, line: int) -> set[str]:
    found = needed(source, line)
    nodes = [node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.stmt)]
    return {ast.unparse(node).split("\n")[0] for node in nodes if ast.dump(node) in found}


def test_what_shares_a_variable_with_the_failing_statement_is_needed() -> None:
    assert SOURCE.split("\n")[AT - 1].strip() == 'assert "admin" in lines'
    assert kept(SOURCE, AT) == {
        "app = App()",
        "app.config['NAME'] = 'local'",
        "@app.route('/home', domain='admin')",
        "lines = result.lines",
    }


def test_an_input_that_became_smaller_is_noticed() -> None:
    inputs = needed(SOURCE, AT)
    assert still_has(SOURCE, inputs)
    assert still_has(SOURCE.replace("        assert result.ok\n", ""), inputs)
    assert still_has(SOURCE.replace("    other.close()\n", ""), inputs)
    assert not still_has(SOURCE.replace(', domain="admin"', ""), inputs)
    assert not still_has(SOURCE.replace('    app.config["NAME"] = "local"\n', ""), inputs)


def test_where_no_test_failed_nothing_is_known() -> None:
    assert needed("import a\n", 1) == frozenset()
