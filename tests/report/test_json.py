from __future__ import annotations

from pytest_brt.report.json import result_json
from tests.rank.rows import broken, row, varied


def test_a_row_says_what_was_not_run_and_why() -> None:
    shown = varied("ValueError: no", "ValueError: no", decides=True)
    cut = "1 of 7 changed inputs were tried: time"
    plain = result_json(row("a.diff", "pf", guarded=broken(2), varied=shown, vary_cut=cut))
    assert plain["changed_inputs"] == {"tried": len(shown), "cut": cut}
    assert [cell["verdict"] for cell in plain["cells"]] == ["PASS", "FAIL"]  # type: ignore[attr-defined]
    assert len(plain["regressions"]) == 2  # type: ignore[arg-type]
    untouched = result_json(row("b.diff", "pf"))
    assert untouched["changed_inputs"] == {"tried": 0, "cut": ""}
    assert untouched["guard"] is None
