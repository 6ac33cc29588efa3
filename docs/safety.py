"""Writes the table of docs/safety.md from what attempts at each level came to.

python docs/safety.py FILE.json, where FILE holds {level: {resource: [what could be done]}}, as
tests/hostile/test_table.py makes it; the table goes to stdout. That test compares it with the page.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

PAGE = Path(__file__).parent / "safety.md"
LEVELS = ("ns", "landlock", "process", "none")
_TABLE = re.compile(r"(<!-- attempts -->\n)(.*?)(<!-- end of attempts -->)", re.DOTALL)


def render(done: Mapping[str, Mapping[str, Sequence[str]]]) -> str:
    """Return the table: a row for each resource, a column for each level."""
    lines = ["| what can be reached | " + " | ".join(f"`{level}`" for level in LEVELS) + " |"]
    lines.append("|---" * (len(LEVELS) + 1) + "|")
    for resource in done[LEVELS[0]]:
        cells = ["; ".join(done[level][resource]) or "nothing" for level in LEVELS]
        lines.append(f"| {resource} | " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"


def shown() -> str:
    """Return the table as the page has it."""
    found = _TABLE.search(PAGE.read_text(encoding="utf-8"))
    assert found is not None, "the page has lost its marks"
    return found[2]


def column(level: str) -> dict[str, list[str]]:
    """Return what the page says of one level: {resource: what could be done}."""
    rows = [line.strip("| ").split(" | ") for line in shown().splitlines()]
    place = LEVELS.index(level) + 1
    return {row[0]: [] if row[place] == "nothing" else row[place].split("; ") for row in rows[2:]}


if __name__ == "__main__":
    print(render(json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))), end="")
