"""The project's settings as they stand in its file, of whatever kind that is.

An ini file, and ``[tool.pytest.ini_options]``, have texts and lists of texts. ``[tool.pytest]`` and
``pytest.toml`` of pytest 9 have numbers, booleans and tables too, of which pytest's own ``getini``
takes only the kind that was declared.
https://docs.pytest.org/en/stable/reference/customize.html
"""

from __future__ import annotations

from typing import Any

import pytest

from pytest_brt.plugin.option_values import Spec


def pytest_settings(config: pytest.Config) -> Any:
    """Return pytest's own mapping of settings; it was public until 9.0, and its values bare."""
    return config._inicfg if hasattr(config, "_inicfg") else config.inicfg


def raw_settings(config: pytest.Config) -> dict[str, object]:
    """Return the values of the project's settings by their names, as they were written."""
    found = pytest_settings(config)
    return {name: getattr(entry, "value", entry) for name, entry in found.items()}


def setting(spec: Spec, settings: dict[str, object]) -> list[str]:
    """Return the texts that a setting gives to its option, [] where there is no such setting.

    Raises:
        ValueError: it is of another kind; the message says what is expected.
    """
    if spec.dest not in settings:
        return []
    value = settings[spec.dest]
    if isinstance(value, dict) and spec.repeat:
        return [f"{name}={_text(one)}" for name, one in value.items()]
    if isinstance(value, list):
        texts = [_text(one) for one in value]
        return texts if spec.repeat else [",".join(texts)]
    text = _text(value)
    if spec.repeat:
        return [line.strip() for line in text.split("\n") if line.strip()]
    return [text] if text else []


def _text(value: object) -> str:
    """Return a value as it would be typed."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, str | int | float):
        return str(value)
    raise ValueError("expected a text, a number, true, false or a list of these")
