"""Reads replies that have a header of one of some kinds, as schemas ask for."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Generic, TypeVar, Union

import msgspec

from pytest_brt.agent.blocks import ReplyProblem, fenced_blocks, first_object

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply(Generic[T]):
    """A header and the code that came with it."""

    header: T
    #: Content of the fenced blocks, in order, each ending with a newline.
    blocks: tuple[str, ...] = ()
    #: False when the last block was not closed, as in an answer that was cut.
    closed: bool = True


def read_reply(text: str, *kinds: type[T]) -> Reply[T]:
    """Return the header of one of `kinds` in `text` and the fenced blocks after it.

    Lenient where it cannot mislead: prose around the header, a fence around it, raw newlines in
    its strings and unpaired surrogates (dropped) are forgiven.

    Raises:
        ReplyProblem: no JSON object, or its fields are wrong; the message names the first one.
    """
    value, rest = first_object(text)
    raw = json.dumps(value, ensure_ascii=False).encode("utf-8", "ignore")
    try:
        # Built at run time: a union of the kinds has no static name.
        header: T = msgspec.json.decode(raw, type=Union[tuple(kinds)])  # noqa: UP007
    except (msgspec.ValidationError, msgspec.DecodeError) as error:
        raise ReplyProblem(f"the header is not as asked for: {error}") from error
    blocks, closed = fenced_blocks(rest)
    return Reply(header=header, blocks=blocks, closed=closed)
