"""Issues and pull requests on GitHub, read with its command ``gh``: the one use of a network.

It happens only where a user names one by its number or address.
https://cli.github.com/manual/
"""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path

from pytest_brt.errors import UsageProblem
from pytest_brt.types.note import value

#: As people write it in a text, or copy it from a browser.
_ADDRESS = re.compile(
    r"(?:(?:https://github\.com/)?(?P<repository>[\w.-]+/[\w.-]+)(?:/issues/|/pull/|#)|#)"
    r"(?P<number>\d+)(?:[/?#]\S*)?"
)
#: Where a repository is fetched from.
_REMOTE = re.compile(r"(?:.*@|.*//)?github\.com[/:]([\w.-]+/[\w.-]+?)(?:\.git)?/?")
#: Seconds after which gh is given up.
_PATIENCE = 60


@value
class Address:
    """An issue or a pull request."""

    #: "OWNER/REPO", "" for that of the project.
    repository: str
    number: str
    #: As the user wrote it.
    text: str


def find_address(text: str) -> Address | None:
    """Return the issue or pull request that `text` names, None where it is something else.

    >>> find_address("https://github.com/pallets/click/pull/2604/files").repository
    'pallets/click'
    >>> find_address("#12").number
    '12'
    """
    found = _ADDRESS.fullmatch(text)
    if found is None:
        return None
    return Address(repository=found["repository"] or "", number=found["number"], text=text)


def repository_of(remote: str) -> str:
    """Return the repository on GitHub that git fetches from `remote`, "" where it is none.

    >>> repository_of("git@github.com:pallets/click.git")
    'pallets/click'
    """
    found = _REMOTE.fullmatch(remote)
    return found[1] if found else ""


def read_report(address: Address) -> bytes:
    """Return title and text of an issue or a pull request, as JSON.

    Raises:
        UsageProblem: gh is not installed, or cannot read it.
    """
    return _ask(address, "issue", "view", "--json", "title,body")


def read_diff(address: Address) -> bytes:
    """Return what a pull request changes.

    Raises:
        UsageProblem: gh is not installed, or cannot read it.
    """
    return _ask(address, "pr", "diff")


def read_author(address: Address) -> str:
    """Return the name on GitHub of who opened a pull request, in small letters.

    Raises:
        UsageProblem: gh is not installed, or cannot read it.
    """
    answer = json.loads(_ask(address, "pr", "view", "--json", "author"))
    return str(answer["author"]["login"]).casefold()


def _ask(address: Address, kind: str, action: str, *options: str) -> bytes:
    """Return what gh prints."""
    command = ["gh", kind, action, address.number, "--repo", address.repository, *options]
    apart = Path.cwd().anchor  # gh starts git, which would obey the project's configuration
    try:
        done = subprocess.run(
            command, capture_output=True, check=False, timeout=_PATIENCE, cwd=apart
        )
    except FileNotFoundError:
        raise UsageProblem(
            f"{address.text!r} is read with GitHub's command gh, which is not installed (install "
            "it, save an issue's text into a file, or fetch a pull request as a branch)"
        ) from None
    except subprocess.TimeoutExpired:
        raise UsageProblem(
            f"gh did not answer within {_PATIENCE} s: {address.text!r}"
        ) from None
    if done.returncode != 0:
        said = " ".join(done.stderr.decode("utf-8", "replace").split())
        raise UsageProblem(f"gh cannot read {address.text!r}: {said[:200]}")
    return done.stdout
