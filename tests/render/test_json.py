from __future__ import annotations

from pytest_brt.render.json import result_json
from tests.support.rows import broken, row


def test_a_row_says_what_was_run_and_what_broke() -> None:
    plain = result_json(row("a.diff", "pf", guarded=broken(2)))
    assert [cell["verdict"] for cell in plain["cells"]] == ["PASS", "FAIL"]  # type: ignore[attr-defined]
    assert len(plain["regressions"]) == 2  # type: ignore[arg-type]
    assert plain["guard"]["failing_before"] == []  # type: ignore[index]
    assert result_json(row("b.diff", "pf"))["guard"] is None
