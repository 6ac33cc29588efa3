"""The report as data: its schema holds, and it comes back as it was."""

from __future__ import annotations

import pytest

from pytest_brt.codec import from_json, to_json
from pytest_brt.render.report import Report
from tests.render.pages import report_of
from tests.render.samples import SAMPLES
from tests.support.docs import load
from tests.support.reports import SCHEMA, checked


@pytest.mark.parametrize("name", SAMPLES)
def test_a_report_is_what_its_schema_says_and_comes_back(name: str) -> None:
    report = report_of(SAMPLES[name]())
    text = to_json(report)
    assert checked(text)["schema"] == 3
    assert from_json(text, Report) == report


def test_every_key_of_an_entry_is_described() -> None:
    schema = load("schema")
    for kind in schema.classes().values():
        if kind.__module__ == Report.__module__:
            for names, words in schema.fields_of(kind):
                assert words, (kind, names)


def test_the_schema_and_its_page_are_as_the_classes_are() -> None:
    schema = load("schema")
    assert SCHEMA.read_text("utf-8") == schema.schema(), "run: python docs/schema.py"
    assert schema.PAGE.read_text("utf-8") == schema.page(), "run: python docs/schema.py"
