"""Oracle about values: the reported one must be gone."""

from __future__ import annotations

import re
from collections.abc import Iterator

from pytest_brt.issue.alike import is_steady, squeezed
from pytest_brt.issue.mentions import is_runnable
from pytest_brt.issue.words import wished_part
from pytest_brt.observe.forms import Display, can_compare, displays, printed_argument, quotes
from pytest_brt.observe.watch import Seen
from pytest_brt.oracle.assertion import assertion, one_line
from pytest_brt.oracle.rules.report_run import ReportRun, called, is_said_to_work, quote, short
from pytest_brt.oracle.write import Draft
from pytest_brt.types import BlockKind, Evidence, OracleKind
from pytest_brt.types.reading import BlockInContext, Claim, ClaimKind, ClaimRole

_SUSPECT = (ClaimRole.OBSERVED, ClaimRole.SHOWN)
_ABOUT_A_CRASH = re.compile(r"\b(?:crash|rais|exception|traceback)", re.IGNORECASE)
#: Signs that make a complaint plain.
_PLAIN = 2


def gone(view: ReportRun) -> Iterator[Draft]:
    """A result that the report quotes, and that still comes out, must be gone."""
    for index, seen in enumerate(view.seen):
        wanted = seen.step.said(ClaimKind.RAISES, ClaimRole.EXPECTED)
        if seen.missing or is_said_to_work(seen) or wanted or view.held_for_right(seen):
            continue
        for display in displays(seen):
            said = _quotation(seen, display)
            if not can_compare(display) or not (said or _is_elsewhere(view, seen, display)):
                continue
            if _is_right(view, seen, display, said) or _is_beside(view, index, said):
                break
            signs = _signs(view, index, said)
            plain = said is not None and signs >= _PLAIN
            lines, capsys = assertion(display, display.text, differs=True)
            shown = one_line(display.text)
            gives = "print" if capsys or printed_argument(seen.step.source) else "return"
            yield Draft(
                kind=OracleKind.GONE,
                index=index,
                body=lines,
                sentence=f"`{short(seen.step.source)}` must no longer {gives} {shown[:100]}.",
                quote=quote(said),
                signs=signs,
                in_passing=not (seen.step.is_marked or _is_spoken_of(said)),
                fixtures=("capsys",) if capsys else (),
                imports=() if is_steady(display.text) else ("import re",),
                evidence=Evidence.REPORTED_VALUE if plain else Evidence.OTHER,
            )
            break


def _quotation(seen: Seen, display: Display) -> Claim | None:
    """Return what the report says that quotes a result, the best quotation first."""
    claims = seen.step.said(ClaimKind.VALUE, *_SUSPECT)
    quoting = [said for said in claims if quotes(said.text, display)]
    return max(quoting, key=lambda said: quotes(said.text, display), default=None)


def _is_beside(view: ReportRun, index: int, said: Claim | None) -> bool:
    """Say whether a result is only shown, and others of its block are what is complained of."""
    seen = view.seen[index]
    if said is None or seen.step.is_marked:
        return False
    beside = [other for other in view.seen if other.step.block == seen.step.block]
    is_shown = said.role is ClaimRole.SHOWN and any(other.step.is_marked for other in beside)
    return is_shown or (said.direct and _is_beside_the_titles(view, index))


def _is_beside_the_titles(view: ReportRun, index: int) -> bool:
    """Say whether the title speaks of more of another statement whose result is shown beside.

    It stands below, or is a call of the same function.
    """
    seen = view.seen[index]
    return any(
        other.step.block == seen.step.block
        and (place > index or called(other.step.source) == called(seen.step.source))
        and view.in_title(other.step.source) > view.in_title(seen.step.source)
        and any(claim.direct for claim in other.step.said(ClaimKind.VALUE, *_SUSPECT))
        for place, other in enumerate(view.seen)
    )


def _is_elsewhere(view: ReportRun, seen: Seen, display: Display) -> bool:
    """Say whether the report has the result in its prose or in an output block.

    Not where it is what should come out: nobody wants that forbidden.
    """
    key = squeezed(display.text)
    if len(key) < 4 or key in squeezed(seen.step.source):
        return False
    places = [
        place
        for place in view.reading.blocks
        if place.block.kind in (BlockKind.PROSE, BlockKind.OUTPUT)
        and key in squeezed(place.block.text)
    ]
    return bool(places) and not any(_is_wished(place, key) for place in places)


def _is_wished(place: BlockInContext, key: str) -> bool:
    if place.role is ClaimRole.EXPECTED:
        return True
    return any(key in squeezed(wished_part(sentence.text)) for sentence in place.sentences)


def _is_right(view: ReportRun, seen: Seen, display: Display, said: Claim | None) -> bool:
    """Say whether the report calls a value right: here, or elsewhere and only shows it here."""
    spoken = said is not None and said.role is ClaimRole.OBSERVED and not said.direct
    where = [seen] if spoken or seen.step.is_marked else view.seen
    right = (ClaimRole.EXPECTED, ClaimRole.CONTRAST)
    claims = (claim for other in where for claim in other.step.said(ClaimKind.VALUE, *right))
    return any(quotes(claim.text, display) for claim in claims)


def _signs(view: ReportRun, index: int, said: Claim | None) -> int:
    """Return how much of a report points at a result; what is marked as wrong is plainly meant."""
    seen = view.seen[index]
    complained = False
    if said is not None and said.role is ClaimRole.OBSERVED:
        # What a sentence above the code says of a crash is said of another of its lines.
        complained = not (said.direct and _ABOUT_A_CRASH.search(said.sentence))
    shows = is_runnable(seen.step.source) or seen.step.inline
    signs = complained + bool(view.in_title(seen.step.source)) + _is_last_shown(view, index)
    return signs + (_PLAIN if seen.step.is_marked else 0) - (not shows)


def _is_spoken_of(said: Claim | None) -> bool:
    """Say whether a sentence complains of a result, and not only what is shown with it."""
    return said is not None and said.role is ClaimRole.OBSERVED and not said.direct


def _is_last_shown(view: ReportRun, index: int) -> bool:
    """Say whether no later statement of the same block has its result quoted."""
    block = view.seen[index].step.block
    return not any(
        other.step.block == block
        and other.step.said(ClaimKind.VALUE, *_SUSPECT)
        and displays(other)
        and not _is_beside_the_titles(view, place)
        for place, other in enumerate(view.seen[index + 1 :], index + 1)
    )
