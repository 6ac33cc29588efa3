"""The project's settings as they stand in its file, of whatever kind that is.

An ini file, and ``[tool.pytest.ini_options]``, have texts and lists of texts. ``[tool.pytest]`` and
``pytest.toml`` of pytest 9 have numbers, booleans and tables too, of which pytest's own ``getini``
takes only the kind that was declared.
https://docs.pytest.org/en/stable/reference/customize.html
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pytest


def pytest_settings(config: pytest.Config) -> Any:
    """Return pytest's own mapping of settings; it was public until 9.0, and its values bare."""
    return config._inicfg if hasattr(config, "_inicfg") else config.inicfg


def raw_settings(config: pytest.Config) -> dict[str, object]:
    """Return the values of the project's settings by their names, as they were written."""
    found = pytest_settings(config)
    return {name: getattr(entry, "value", entry) for name, entry in found.items()}


def setting_texts(value: object, *, several: bool) -> list[str]:
    """Return the texts that a setting gives to its option, one or `several`.

    Raises:
        ValueError: it is of another kind; the message says what is expected.
    """
    if isinstance(value, dict) and several:
        return [f"{name}={_text(one)}" for name, one in value.items()]
    if isinstance(value, list | tuple):
        texts = [_text(one) for one in value]
        return texts if several else [",".join(texts)]
    text = _text(value)
    if several:
        return [line.strip() for line in text.split("\n") if line.strip()]
    return [text] if text else []


def _text(value: object) -> str:
    """Return a value as it would be typed."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, str | int | float):
        return str(value)
    raise ValueError("expected a text, a number, true, false or a list of these")
