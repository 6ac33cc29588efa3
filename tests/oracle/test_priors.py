from __future__ import annotations

from pytest_brt.oracle.priors import PRIORS
from pytest_brt.types import OracleKind


def test_every_oracle_has_a_prior() -> None:
    assert set(PRIORS) == set(OracleKind)
    assert all(0 < prior < 1 for prior in PRIORS.values())


def test_a_stated_value_is_worth_more_than_a_flip() -> None:
    assert PRIORS[OracleKind.EQUALS] > PRIORS[OracleKind.GONE]
