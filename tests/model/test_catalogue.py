"""Each model worth having comes with what a reader wants to know of it, and where that was read."""

from __future__ import annotations

import tomllib
from datetime import date
from typing import Any

import pytest

from pytest_brt.model.catalogue import catalogue_path

ROWS: list[dict[str, Any]] = tomllib.loads(catalogue_path().read_text("utf-8"))["model"]


@pytest.mark.parametrize("row", ROWS, ids=[row["name"] for row in ROWS])
def test_a_row_says_all_and_names_its_sources(row: dict[str, Any]) -> None:
    for name in ("licence", "parameters", "size", "repository", "file", "template", "notes"):
        assert row[name].strip(), name
    assert row["gigabytes"] > 0 < row["context"]
    assert row["checked"] <= date.today()
    assert row["sources"]
    assert all(source.startswith("https://") for source in row["sources"])
    # A size that is stated in GiB is more in GB.
    stated = float(row["size"].split()[0])
    assert row["gigabytes"] == pytest.approx(stated * (1.0737 if "GiB" in row["size"] else 1), 0.01)
