"""The strategies that need no plugin."""

from __future__ import annotations

from collections.abc import Mapping

from pytest_brt.reproduce.agent import STRATEGY as AGENT
from pytest_brt.reproduce.auto import STRATEGY as AUTO
from pytest_brt.reproduce.invert import STRATEGY as INVERT
from pytest_brt.reproduce.libro import STRATEGY as LIBRO
from pytest_brt.reproduce.replay import STRATEGY as REPLAY
from pytest_brt.reproduce.strategy import Strategy

#: By name.
STRATEGIES: Mapping[str, Strategy] = {
    "replay": REPLAY,
    "libro": LIBRO,
    "invert": INVERT,
    "agent": AGENT,
    "auto": AUTO,
}
