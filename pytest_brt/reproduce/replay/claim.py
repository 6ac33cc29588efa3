"""What a sentence says, and of which code."""

from __future__ import annotations

import re
from dataclasses import dataclass
from types import MappingProxyType

from pytest_brt.issue.prose import Sentence
from pytest_brt.reproduce.replay.steps import Role, Said, SaidKind
from pytest_brt.types import Raised

#: Words that name one of several results, as in `Claim.ordinal`.
ORDINALS = MappingProxyType(
    {"first": 1, "former": 1, "second": 2, "third": 3, "fourth": 4, "last": -1, "latter": -1}
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """What a sentence says, and of which code."""

    #: Source of the expression it speaks of; "" for the code before (or after) the sentence.
    subject: str
    said: Said
    #: Which of the results above it speaks of: 1 for "the first", -1 for "the last", 0 unsaid.
    ordinal: int = 0


def raises_claim(
    subject: str, match: re.Match[str] | None, role: Role, sentence: Sentence
) -> Claim:
    """Return the claim that `subject` raises what `match`, of `EXCEPTION`, names."""
    raised = Raised(
        type=match["type"] if match else "",
        message=(match["message"] or "").strip() if match else "",
    )
    said = Said(kind=SaidKind.RAISES, role=role, raised=raised, sentence=sentence.text)
    return Claim(subject=subject, said=said)


def value_claim(subject: str, text: str, role: Role, sentence: Sentence) -> Claim:
    """Return the claim that `subject` has the value `text`."""
    said = Said(kind=SaidKind.VALUE, role=role, text=text, sentence=sentence.text)
    return Claim(subject=subject, said=said)
