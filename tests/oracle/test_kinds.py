"""The table of oracle kinds."""

from __future__ import annotations

import pytest

from pytest_brt.codec import from_json, to_json
from pytest_brt.render.words import FAILURES
from pytest_brt.types import OracleKind


@pytest.mark.parametrize("kind", list(OracleKind))
def test_every_kind_has_all_its_facts(kind: OracleKind) -> None:
    # An exception that must not be raised tells by itself what fails.
    assert bool(FAILURES[kind]) is (kind is not OracleKind.NO_RAISE)


def test_a_kind_is_stored_as_its_slug() -> None:
    assert to_json(OracleKind.GONE) == '"observed-gone"'
    assert from_json(b'"observed-gone"', OracleKind) is OracleKind.GONE
