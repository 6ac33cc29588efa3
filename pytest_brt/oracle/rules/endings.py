"""Oracles about how a statement ends its process: it must not hang, and not die."""

from __future__ import annotations

import re
from collections.abc import Iterator

from pytest_brt.oracle.draft import Draft
from pytest_brt.oracle.rules.view import View, called
from pytest_brt.oracle.write import literal, script
from pytest_brt.types import OracleKind, Raised

_HANGS = re.compile(
    r"\bhang|\bhung|\bfreez|\bforever\b|\bnever (?:return|finish|end|terminat|complet)|"
    r"\binfinite(?:ly)? (?:loop|recurs)|\bendless|\bstuck\b|\bdeadlock|\bdoes(?:n['’]t| not) "
    r"(?:return|finish|terminate)|\b(?:very|extremely|too) slow|\btakes? (?:too|very|so) long",
    re.IGNORECASE,
)
_DIES = re.compile(
    r"\bseg(?:mentation)? ?fault|\bcore dump|\bcrash|\babort|\bSIG[A-Z]+", re.IGNORECASE
)
#: Seconds after which a statement that ought to be quick is held to hang.
_PATIENCE = 15


def must_end(view: View) -> Iterator[Draft]:
    """What the report says hangs, or kills its process, must come to an end."""
    text = view.issue.text
    for index, seen in enumerate(view.seen):
        if not seen.ended or seen.missing:
            continue
        hangs = "timed out" in seen.ended
        if not (_HANGS if hangs else _DIES).search(text):
            continue
        plain = Draft(
            kind=OracleKind.NO_RAISE, index=index, body=(seen.step.source,), sentence="", score=0.0
        )
        code = script(plain, view.replayed)
        if code is None:
            continue
        limit = f", timeout={_PATIENCE}" if hangs else ""
        what = "hang" if hangs else "kill its process"
        yield Draft(
            kind=OracleKind.NO_RAISE,
            index=index,
            body=(
                f"script = {literal(code)}",
                'command = [sys.executable, "-c", script]',
                f"subprocess.run(command, check=True{limit})",
            ),
            sentence=f"`{' '.join(seen.step.source.split())[:120]}` must not {what}.",
            score=OracleKind.NO_RAISE.prior - 0.15,
            reasons=(f"the report says so, and here it ended so: {seen.ended}",),
            # What subprocess says of it is no message that anybody has seen.
            expects=Raised(type="TimeoutExpired" if hangs else "CalledProcessError", message=""),
            imports=("import subprocess", "import sys"),
            about=called(seen.step.source),
        )
