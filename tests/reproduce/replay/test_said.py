"""What people are told about reports of many kinds: the table of ``said.toml``."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

from pytest_brt.answers import answer_issue
from pytest_brt.execute.engine import Engine
from pytest_brt.render.answer import issue_sentence
from tests.reproduce.replay.project import attempt

REPORTS = tomllib.loads(Path(__file__).with_name("said.toml").read_text(encoding="utf-8"))["report"]


@pytest.mark.parametrize("report", [pytest.param(one, id=one["about"]) for one in REPORTS])
def test_what_is_said_of_a_report(engine: Engine, report: dict[str, str]) -> None:
    said = issue_sentence(answer_issue([attempt(engine, report["text"])]))
    # The project lies in another folder each time.
    assert re.sub(r"/\S*/(?=pkg/)", "", said) == report["says"]


def test_there_are_forty_of_them_and_no_two_are_alike() -> None:
    assert len({report["text"] for report in REPORTS}) == len(REPORTS) >= 40
