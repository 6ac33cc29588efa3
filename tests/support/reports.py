"""JSON reports, as a program reads them: each is what its schema says."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from jsonschema import Draft202012Validator

import pytest_brt.render

SCHEMA = Path(pytest_brt.render.__file__).with_name("report.schema.json")


def read_report(path: Path) -> dict[str, Any]:
    """Return the report in a file."""
    return checked(path.read_text("utf-8"))


def checked(text: str) -> dict[str, Any]:
    """Return the report that is a text."""
    report: dict[str, Any] = json.loads(text)
    schema = json.loads(SCHEMA.read_text("utf-8"))
    Draft202012Validator(schema).validate(report)
    return report


def patches_of(report: dict[str, Any]) -> dict[str, Any]:
    """Return the patches of all rankings, best first, by their names."""
    return {patch["name"]: patch for ranking in report["rankings"] for patch in ranking["patches"]}
