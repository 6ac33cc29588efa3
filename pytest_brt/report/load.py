"""A bug report as bytes or text → an Issue."""

from __future__ import annotations

import errno
import re
from pathlib import Path
from typing import BinaryIO

import msgspec

from pytest_brt.bounded import read_bounded
from pytest_brt.codec import content_id
from pytest_brt.errors import UsageProblem
from pytest_brt.report.markdown import split_blocks
from pytest_brt.shown import on_a_line
from pytest_brt.types import Issue

_WORD = re.compile(r"\w")
#: Bytes of a report, the logs that are pasted into it among them; and characters that are read.
_MOST, _READ = 16 << 20, 200_000


class _Json(msgspec.Struct):
    """An issue as the commands of GitHub and GitLab give it."""

    title: str
    body: str | None = None
    description: str | None = None


def load_issue(path: str, stdin: BinaryIO) -> Issue:
    """Read the bug report at `path`, or from `stdin` when `path` is "-".

    Raises:
        UsageProblem: the file is missing, unreadable, no regular file, too long, empty, or not
            text in UTF-8.
    """
    try:
        data = stdin.read(_MOST + 1) if path == "-" else read_bounded(Path(path), _MOST)
        if len(data) > _MOST:
            raise OSError(errno.EFBIG, f"it holds more than {_MOST >> 20} MB")
        text = data.decode("utf-8-sig")
    except OSError as error:
        raise UsageProblem(
            f"cannot read the issue {path!r}: {error.strerror or error}"
        ) from None
    except UnicodeDecodeError:
        raise UsageProblem(
            f"issue is binary, or text that is not UTF-8: {path!r} (save it as UTF-8 text)"
        ) from None
    return read_issue(text, path)


def read_issue(text: str, source: str) -> Issue:
    """Read a bug report from markdown, plain text, or the JSON of GitHub, or of GitLab's interface.

    `source` is where it came from, for messages and names of tests.

    Raises:
        UsageProblem: there is no word in it. Every other text can be read.
    """
    text = _normalised(_from_json(text))
    blocks = tuple(split_blocks(text[:_READ]))
    if not any(_WORD.search(block.text) for block in blocks):
        raise UsageProblem(
            f"issue is empty: {source!r} (it needs the text of a bug report)"
        )
    title = blocks[0].text.partition("\n")[0].strip()[:300]
    return Issue(
        id=content_id(title, text),
        title=on_a_line(title),
        text=text[:_READ],
        source=source,
        blocks=blocks,
        unread=len(text[_READ:]),
    )


def _from_json(text: str) -> str:
    """Return the title and the text of an issue in JSON as Markdown; any other text as it is."""
    try:
        issue = msgspec.json.decode(text, type=_Json)
    except (msgspec.MsgspecError, RecursionError):
        return text
    return f"# {' '.join(issue.title.split())}\n\n{issue.body or issue.description or ''}"


def _normalised(text: str) -> str:
    r"""Return `text` with "\\n" line ends and without what no reader sees.

    Lone surrogates are replaced, so that whatever is made of the text can be written.
    """
    text = re.sub(r"\r\n?|[\f\v]", "\n", text).replace("\u00a0", " ")
    return re.sub("[\ufeff\u200b\0]", "", text).encode("utf-8", "replace").decode("utf-8")
