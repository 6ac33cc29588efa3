"""The setups of the papers name strategies that there are."""

from __future__ import annotations

import re
import tomllib

import pytest

from pytest_brt.agents.specs import REPAIRS
from pytest_brt.reproduce.registry import STRATEGIES
from tests.studies.bugs import STUDIES


def test_each_strategy_that_a_setup_names_is_there(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(STUDIES / "setups"))
    import strategies

    known = {*REPAIRS, *STRATEGIES, *strategies.pytest_brt_strategies()}
    named = set()
    for file in (STUDIES / "setups").glob("*.toml"):
        setup = tomllib.loads(file.read_text("utf-8"))
        for words in (setup.get("tests", ()), *setup.get("ways", {}).values()):
            for names in re.findall(r"--strategy=(\S+)", " ".join(words)):
                named.update(names.split(","))
    assert {"libro", "agent", "passerine", "repairagent", "repairagent-no-states"} <= named
    assert named <= known
