"""A stand-in for GitHub's command gh."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping

from tests.scenarios.project import Project

SCRIPT = """\
#!{python}
import json, sys

kind, action, number, *rest = sys.argv[1:]
repository = rest[rest.index("--repo") + 1]
found = json.loads({known!r}).get(repository + "#" + number)
if found is None or (kind == "pr" and "diff" not in found):
    sys.exit("GraphQL: Could not resolve to an issue or pull request")
if action == "diff":
    sys.stdout.write(found["diff"])
else:
    print(json.dumps({{name: found[name] for name in rest[rest.index("--json") + 1].split(",")}}))
"""


def put_gh_on_path(project: Project, known: Mapping[str, Mapping[str, object]]) -> None:
    """Let gh know issues and pull requests, by names as in "owner/name#12"."""
    script = project.bin / "gh"
    script.write_text(SCRIPT.format(python=sys.executable, known=json.dumps(known)), "utf-8")
    script.chmod(0o755)


def pull_request(diff: str, author: str, body: str = "") -> dict[str, object]:
    """Return what gh tells of a pull request."""
    return {"title": f"by {author}", "body": body, "diff": diff, "author": {"login": author}}
