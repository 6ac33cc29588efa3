"""What the prompts of repairs take, on recorded dialogues of other versions.

    python bench/dialogues.py DIALOGUES.jsonl.gz

Each line of the file is a prompt (`prompt`, messages below "=== system ===" and "=== user ===").
Of each prompt of a repair agent the system message and the report are taken out and put in as the
strategies have them now, and the part on the state is left out for auto; all else stays. The last
line is JSON: tokens per step as they were recorded, in repairagent and in auto (medians and sums,
by `estimate`), and how many prompts of repairs stood twice.
"""

from __future__ import annotations

import gzip
import json
import re
import sys
from collections import Counter
from pathlib import Path
from statistics import median

from pytest_brt.agent.action import actions_of, describe
from pytest_brt.agent.prompts import Prompts
from pytest_brt.agent.report_text import report_text
from pytest_brt.issue.load import read_issue
from pytest_brt.model.base import Role, estimate
from pytest_brt.repair.free_repair import FreeRepair
from pytest_brt.repair.repairagent import RepairAgent

_PARTS = re.compile(r"=== system ===\n(?P<system>.*?)\n=== user ===\n(?P<user>.*)", re.DOTALL)
_REPORT = re.compile(r"# The bug\n(.*?)\n\n# (?:What is known|Where it may be)", re.DOTALL)


def main(path: Path) -> int:
    """Measure; return the exit status."""
    with gzip.open(path, "rt", encoding="utf-8") as file:
        prompts = [json.loads(line)["prompt"] for line in file]
    systems = {"repairagent": system_of_repairagent(), "auto": system_of_auto()}
    sizes: dict[str, list[int]] = {"recorded": [], **{name: [] for name in systems}}
    repairs = []
    for prompt in prompts:
        parts, report = _PARTS.search(prompt), _REPORT.search(prompt)
        if parts is None or report is None or "You repair bugs" not in parts["system"]:
            continue
        repairs.append(prompt)
        rest = estimate(parts["user"]) - estimate(report[1])
        folded = report_text(read_issue(report[1], "issue.md"))
        # What auto has in place of it are the replies, which say what was done.
        tail = estimate(parts["user"][parts["user"].find("# Where you are") :])
        sizes["recorded"].append(estimate(parts["system"]) + estimate(parts["user"]))
        sizes["repairagent"].append(systems["repairagent"] + rest + estimate(report[1]))
        sizes["auto"].append(systems["auto"] + rest - tail + estimate(folded))
    twice = sum(count - 1 for count in Counter(repairs).values())
    figures = {name: {"median": median(some), "sum": sum(some)} for name, some in sizes.items()}
    print(json.dumps({"prompts": len(repairs), "twice": twice, **figures}))
    return 0


def system_of_repairagent() -> int:
    """Return the tokens of RepairAgent's system message."""
    tools = describe(actions_of(object.__new__(RepairAgent)).values())
    values = {"tools": tools, "short": False, "steps": 40, "place_given": False}
    return estimate(Prompts().message(Role.SYSTEM, "repair/system", **values).text)


def system_of_auto() -> int:
    """Return the tokens of the system message of `auto`."""
    actions = describe(actions_of(object.__new__(FreeRepair)).values())
    return estimate(Prompts().message(Role.SYSTEM, "free_repair/system", actions=actions).text)


if __name__ == "__main__":
    raise SystemExit(main(Path(sys.argv[1])))
