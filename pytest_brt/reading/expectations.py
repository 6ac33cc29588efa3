"""Results below a sentence that wishes: whether they are what is wished for, or the complaint.

"Expected output:" says that what follows is right. "This should work:" does not, and below
"`f(0)` should be `0`:" a session that shows another value shows the bug.
"""

from __future__ import annotations

import re
from dataclasses import replace

from pytest_brt.reading.compare import quoted_in
from pytest_brt.reading.lexicon import plain
from pytest_brt.reading.mentions import is_literal
from pytest_brt.reading.steps import Claim, ClaimKind, Role, Step

_RESULT = (
    r"(?:outputs?|results?|values?|behaviou?rs?|answers?|strings?|reprs?|responses?|outcomes?"
    r"|errors?|exceptions?|messages?|tracebacks?|warnings?|forms?)"
)
_CUE = re.compile(
    r"\b(?:should|expect(?:ed|s|ing|ation)?|would|could|want(?:ed)?"
    r"|desired?|ideal(?:ly)?|hop(?:ed?|ing)(?: for)?|like|i'd|correct|right|proposed)\b",
    re.IGNORECASE,
)
#: "I expect the second one to": so much may stand before what it is to give.
_TO = re.compile(r"(?<=\bto)\b")
_ASKS = re.compile(r"\b(?:expect\w*|want(?:ed)?|like|need)\b", re.IGNORECASE)
#: "Expected output of f(0)": whatever else is said, what follows is that output.
_NAMED = re.compile(
    r"\b(?:expected|desired|wanted|ideal|correct|right|proposed|hoped[- ]for)\s+(?:\w+\s+)?"
    + _RESULT
    + r"\b",
    re.IGNORECASE,
)
#: All that may stand between the wish and its result when the wish is for just that result.
_TAIL = re.compile(
    r"(?:\W*(?:(?:the|following|this|that|these|those|it|them|an?|i|we|you|one|code|snippet|call"
    r")(?: (?:code|snippet|call|example|lines?))? to|"
    r"the|following|this|that|these|those|it|them|an?|something|similar|same|one|below|next|as"
    r"|follows|like|so|here|i|we|you|to|be|been|is|are|was|were|have|has|had|do|done|does|happen"
    r"|prints?|printed|gives?|given|returns?|returned|yields?|yielded|produces?|produced"
    r"|outputs?|shows?|shown|displays?|displayed|sees?|seen|gets?|got|looks?|becomes?|results? in"
    r"|evaluates? to|equals?|equal|equivalent|raises?|raised|fails? with|work like"
    r"|work as|rather|instead|also|then|now|still|always|just|simply|actually|really|at least"
    r"|both|all|each|either|expected|love|prefer|of|" + _RESULT + r")\b)*\W*"
    # … when it is called so: no more wishes.
    r"(?:\b(?:for|from|when|with|after|in|on|if|because|since)\b"
    r"(?!.*\b(?:to|works?|fine|correctly)\b).*)?",
    re.IGNORECASE | re.DOTALL,
)


def announces_result(text: str) -> bool:
    """Say whether a sentence or heading that wishes says that the result wished for follows.

    >>> announces_result("This should print:"), announces_result("This should work:")
    (True, False)
    """
    text = plain(text)
    if _NAMED.search(text):
        return True
    ends = [cue.end() for cue in _CUE.finditer(text)]
    if ends and (asks := _ASKS.search(text)):
        ends += [to.end() for to in _TO.finditer(text, asks.end())]
    return any(_TAIL.fullmatch(text[end:]) for end in ends)


def states_value(sentence: str, said: tuple[Claim, ...]) -> bool:
    """Say whether a sentence names itself, as a literal, the value that it wishes for."""
    return any(
        one.sentence == sentence
        and one.kind is ClaimKind.VALUE
        and one.role is Role.EXPECTED
        and not one.direct
        and is_literal(one.text)
        for one in said
    )


def settled(step: Step) -> Step:
    """Return the statement with a role for each result that stands below a mere wish.

    It is the complaint, unless the report states it as right, or another one as wrong.
    """
    if not any(said.wished for said in step.claims):
        return step
    stated = [said for said in step.claims if said.kind is ClaimKind.VALUE and not said.wished]
    return replace(step, claims=tuple(_settled(said, stated) for said in step.claims))


def _settled(said: Claim, stated: list[Claim]) -> Claim:
    if not said.wished or said.role is not Role.EXPECTED:
        return said
    right = [other for other in stated if other.role is Role.EXPECTED]
    wrong = [other for other in stated if other.role is Role.OBSERVED]
    if said.kind is ClaimKind.VALUE:
        if any(_same(said, other) for other in right):
            return said
        if not right and wrong and not any(_same(said, other) for other in wrong):
            return said
    return replace(said, role=Role.OBSERVED)


def _same(said: Claim, other: Claim) -> bool:
    return bool(quoted_in(said.text, other.text) or quoted_in(other.text, said.text))
