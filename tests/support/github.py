"""A stand-in for GitHub's command ``gh``, which answers from a file."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import pytest

_SCRIPT = """\
#!{python}
import json, pathlib, sys

kind, action, number, repo_flag, repository, *rest = sys.argv[1:]
assert repo_flag == "--repo", sys.argv
known = json.loads(pathlib.Path({data!r}).read_text("utf-8"))
found = known.get(repository + "#" + number)
if found is None or (kind == "pr" and "diff" not in found):
    sys.exit("GraphQL: Could not resolve to an issue or pull request with the number of " + number)
if (kind, action) == ("pr", "diff"):
    sys.stdout.write(found["diff"])
else:
    flag, names = rest
    assert flag == "--json" and action == "view", sys.argv
    print(json.dumps({{name: found[name] for name in names.split(",")}}))
"""


def pull_request(diff: str, author: str, title: str = "", body: str = "") -> dict[str, object]:
    """Return what gh tells of a pull request."""
    return {"title": title, "body": body, "diff": diff, "author": {"login": author}}


def put_gh_on_path(
    folder: Path, monkeypatch: pytest.MonkeyPatch, known: dict[str, dict[str, object]]
) -> None:
    """Let ``gh`` know issues and pull requests, by names as in "OWNER/REPO#12"."""
    folder.mkdir()
    data = folder / "known.json"
    data.write_text(json.dumps(known), "utf-8")
    script = folder / "gh"
    script.write_text(_SCRIPT.format(python=sys.executable, data=str(data)), "utf-8")
    script.chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}{os.pathsep}{os.environ['PATH']}")
