"""What a sentence, a comment or an output says, and of which code."""

from __future__ import annotations

import re
from types import MappingProxyType

from pytest_brt.issue.prose import Sentence
from pytest_brt.reading.steps import Claim, ClaimKind, Role
from pytest_brt.types import Raised

#: Words that name one of several results, as in `Claim.ordinal`.
ORDINALS = MappingProxyType(
    {"first": 1, "former": 1, "second": 2, "third": 3, "fourth": 4, "last": -1, "latter": -1}
)


def raises_claim(
    subject: str, match: re.Match[str] | None, role: Role, sentence: Sentence
) -> Claim:
    """Return the claim that `subject` raises what `match`, of `EXCEPTION`, names."""
    raised = Raised(
        type=match["type"] if match else "",
        message=(match["message"] or "").strip() if match else "",
    )
    return Claim(
        kind=ClaimKind.RAISES, role=role, raised=raised, sentence=sentence.text, subject=subject
    )


def value_claim(subject: str, text: str, role: Role, sentence: Sentence) -> Claim:
    """Return the claim that `subject` has the value `text`."""
    return Claim(
        kind=ClaimKind.VALUE, role=role, text=text, sentence=sentence.text, subject=subject
    )
