"""The table of oracle kinds."""

from __future__ import annotations

import pytest

from pytest_brt.codec import from_json, to_json
from pytest_brt.types import OracleKind


@pytest.mark.parametrize("kind", list(OracleKind))
def test_every_kind_has_all_its_facts(kind: OracleKind) -> None:
    assert kind.called.isidentifier()
    assert 0 < kind.prior < 1
    assert 0 < kind.leniency < 0.5
    # An exception that must not be raised tells by itself what fails.
    assert bool(kind.failure) is (kind is not OracleKind.NO_RAISE)


def test_what_asks_for_a_value_lets_fewer_wrong_patches_pass_than_what_forbids_one() -> None:
    stated = (OracleKind.EQUALS, OracleKind.WRITTEN, OracleKind.MUST_RAISE)
    absent = (OracleKind.NO_RAISE, OracleKind.NO_PRINT, OracleKind.GONE)
    assert max(kind.leniency for kind in stated) < min(kind.leniency for kind in absent)


def test_a_kind_is_stored_as_its_slug() -> None:
    assert to_json(OracleKind.GONE) == '"observed-gone"'
    assert from_json(b'"observed-gone"', OracleKind) is OracleKind.GONE
