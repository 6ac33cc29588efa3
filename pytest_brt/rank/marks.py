"""Other punctuation for a text: brackets for brackets, separators for separators."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain, zip_longest

#: Each opening bracket with its closing one.
_PAIRS = {"(": ")", "[": "]", "{": "}", "<": ">"}
_OPENING = {closing: opening for opening, closing in _PAIRS.items()}
#: Alone these are rather signs for "less" and "greater", which stand for each other only.
_ANGLES = "<>"
_BRACKETS = "()[]{}"
#: Marks that are used in the same way; what is made with one can be made with another.
_KINDS = (",;:|", "-_+", ".!?", "*~^", "@#&$")
_QUOTES = "'\"`"


def remarked(text: str) -> tuple[str, ...]:
    r"""Return texts that differ from `text` in one punctuation mark, of the same kind.

    What makes the text valid is kept where it can be seen: a bracket changes with the one that it
    is paired with, quotes only in pairs, a mark that occurs several times everywhere, and what
    is part of a number stays. Each mark has its turn before any has another.

    >>> remarked("f(x)")
    ('f[x]', 'f{x}', 'f<x>')
    >>> print(*remarked(r"\["))
    \] \( \) \{ \}
    >>> remarked("a-b, c-d")
    ('a_b, c_d', 'a-b; c-d', 'a+b, c+d', 'a-b: c-d', 'a-b| c-d')
    >>> remarked("it's 1.5")
    ()
    """
    turns = zip_longest(*_brackets(text), *_others(text))
    found = (other for other in chain.from_iterable(turns) if other not in (None, text))
    return tuple(dict.fromkeys(found))


def _brackets(text: str) -> Iterator[list[str]]:
    """Yield what each bracket, with its partner, can be changed to."""
    partners = _partners(text)
    for at, mark in enumerate(text):
        if at in partners:
            end = partners[at]
            yield [_with(text, {at: new, end: _PAIRS[new]}) for new in _PAIRS if new != mark]
        elif mark in _PAIRS and at not in partners.values():
            yield [_with(text, {at: new}) for new in _alone(mark, _PAIRS[mark])]
        elif mark in _OPENING and at not in partners.values():
            yield [_with(text, {at: new}) for new in _alone(mark, _OPENING[mark])]


def _alone(mark: str, other: str) -> list[str]:
    """Return what a bracket without a partner can become: its own counterpart first."""
    rest = "" if mark in _ANGLES else _BRACKETS
    return [other, *(new for new in rest if new not in (mark, other))]


def _partners(text: str) -> dict[int, int]:
    """Return the place of each closing bracket by that of the one which it closes.

    >>> _partners("a(b[c)")
    {1: 5}
    """
    found: dict[int, int] = {}
    waiting: list[int] = []
    for at, mark in enumerate(text):
        if mark in _PAIRS:
            waiting.append(at)
        elif mark in _OPENING and any(text[place] == _OPENING[mark] for place in waiting):
            while text[waiting[-1]] != _OPENING[mark]:
                waiting.pop()
            found[waiting.pop()] = at
    return found


def _others(text: str) -> Iterator[list[str]]:
    """Yield what each other mark can be changed to: one that the text does not have yet."""
    for mark in dict.fromkeys(text):
        kind = next((kind for kind in (*_KINDS, _QUOTES) if mark in kind), "")
        if not kind or _is_in_number(text, mark) or (mark == ":" and "://" in text):
            continue
        if mark in _QUOTES and text.count(mark) % 2:
            continue
        yield [text.replace(mark, new) for new in kind if new not in text]


def _is_in_number(text: str, mark: str) -> bool:
    """Say whether a mark is part of a number, a date, a time or a version somewhere."""
    before, after = f" {text}", f"{text} "[1:]
    return any(
        sign == mark and next_.isdigit() and (last.isdigit() or not last.isalnum())
        for last, sign, next_ in zip(before, text, after, strict=False)
    )


def _with(text: str, marks: dict[int, str]) -> str:
    return "".join(marks.get(at, letter) for at, letter in enumerate(text))
