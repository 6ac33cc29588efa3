"""A bug report as bytes or text → an Issue."""

from __future__ import annotations

import re
from pathlib import Path
from typing import BinaryIO

import msgspec

from pytest_brt.bounded import read_bounded
from pytest_brt.codec import content_id
from pytest_brt.errors import IssueProblem
from pytest_brt.report.markdown import split_blocks, without_comments
from pytest_brt.types import Issue

_WORD = re.compile(r"\w")
#: A heading below the first, a line that is bold from end to end, and a box to tick in a list.
_OF_FORM = re.compile(r"#{2,}\s|(?:\*\*|__)[^*]+(?:\*\*|__):?$|[-*]\s*\[[ xX]\]")
#: Bytes of a report, the logs that are pasted into it among them; and characters that are read, at
#: its start and at its end.
_MOST, _START, _END = 16 << 20, 150_000, 50_000


class _Json(msgspec.Struct):
    """An issue as the commands of GitHub and GitLab give it."""

    title: str | None = None
    body: str | None = None
    description: str | None = None


def load_issue(path: str, stdin: BinaryIO) -> Issue:
    """Read the bug report at `path`, or from `stdin` when `path` is "-".

    Raises:
        IssueProblem: the file is missing, unreadable, no regular file, too long, empty, binary, or
            not UTF-8.
    """
    shown = "standard input" if path == "-" else repr(path)
    try:
        data = stdin.read(_MOST + 1) if path == "-" else read_bounded(Path(path), _MOST)
    except FileNotFoundError:
        raise IssueProblem(f"no such issue file: {path!r} (give a file, or '-')") from None
    except IsADirectoryError:
        raise IssueProblem(f"issue is a folder: {path!r} (give a file in it)") from None
    except OSError as error:
        raise IssueProblem(f"cannot read the issue {shown}: {error.strerror or error}") from None
    if len(data) > _MOST:
        raise IssueProblem(f"cannot read the issue {shown}: it holds more than {_MOST >> 20} MB")
    if b"\0" in data and not data.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise IssueProblem(f"issue is binary, not text: {shown} (save the report as UTF-8 text)")
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise IssueProblem(
            f"issue is not UTF-8: {shown}, byte {error.start} is 0x{data[error.start]:02x}"
            " (save it as UTF-8)"
        ) from None
    return read_issue(text, path)


def read_issue(text: str, source: str) -> Issue:
    """Read a bug report from markdown, plain text, or the JSON of GitHub, or of GitLab's interface.

    `source` is where it came from, for messages and names of tests.

    Raises:
        IssueProblem: there is no word in it. Every other text can be read.
    """
    title, body = _from_json(text)
    if not title and not body:
        body = _normalise(text)
    if not _WORD.search(title + body):
        shown = "standard input" if source == "-" else repr(source)
        raise IssueProblem(f"issue is empty: {shown} (it needs the text of a bug report)")
    if not title:
        title = _first_line(body)
    elif _first_line(body) != title:
        body = f"# {title}\n\n{body}"
    # It goes to terminals and into file names: no escape sequences of a stranger's.
    title = "".join(letter if letter.isprintable() else " " for letter in title).strip()
    start, end = body[:_START], body[_START:][-_END:]
    if len(start) + len(end) < len(body):
        end = end.partition("\n")[2]
    return Issue(
        id=content_id(title, body),
        title=title,
        text=body,
        source=source,
        blocks=split_blocks(start + end),
        unread=len(body) - len(start) - len(end),
    )


def _from_json(text: str) -> tuple[str, str]:
    """Return title and body when `text` is a JSON object that has them, else "" twice."""
    try:
        issue = msgspec.json.decode(text.lstrip("\ufeff"), type=_Json)
    except (msgspec.MsgspecError, RecursionError):
        return "", ""
    body = issue.body or issue.description or ""
    return " ".join(_normalise(issue.title or "").split()), _normalise(body)


def _normalise(text: str) -> str:
    r"""Return `text` with "\\n" line ends and without what no reader sees.

    Lone surrogates are replaced, so that whatever is made of the text can be written.
    """
    text = re.sub(r"\r\n?|[\f\v]", "\n", text).replace("\u00a0", " ")
    return re.sub("[\ufeff\u200b\0]", "", text).encode("utf-8", "replace").decode("utf-8")


def _first_line(text: str) -> str:
    """Return the first line that says something of the bug, without its markup.

    Of forms, as GitHub's templates are, boxes to tick and headings are passed over.
    """
    lines = [line.strip() for line in without_comments(text).split("\n") if _WORD.search(line)]
    titles = [line for line in lines if not _OF_FORM.match(line)]
    return next(iter(titles or lines), "").strip("#* ")[:300]
