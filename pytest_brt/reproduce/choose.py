"""Which one of several tests is used when there can be only one (paper 001, requirement 45)."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass

from pytest_brt.types import JudgedTest


@dataclass(frozen=True, slots=True, kw_only=True)
class Option:
    """A test, and what its choice depends on."""

    item: JudgedTest
    #: A model says that its failure is caused by the bug; None when it was not asked.
    caused: bool | None = None
    #: The run that made it ended by itself, and not for want of steps.
    finished: bool = True
    #: Its last execution failed, as it should.
    failed: bool = True


def choose_one(options: Sequence[Option], seed: int) -> JudgedTest | None:
    """Return the one test to use, None without any.

    Preferred is first what a model holds for the bug, then what a run ended with gracefully,
    then what failed when it was last run; among equals chance decides, by `seed`.
    """
    if not options:
        return None
    best = max(_key(option) for option in options)
    equal = [option for option in options if _key(option) == best]
    return random.Random(seed).choice(equal).item


def _key(option: Option) -> tuple[bool, bool, bool]:
    return (option.caused is True, option.finished, option.failed)
