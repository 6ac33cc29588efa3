"""Writes docs/options.md from the table of options, so that the two cannot differ.

python docs/options.py > docs/options.md
"""

from __future__ import annotations

from pytest_brt.plugin.option_list import OPTIONS, SETTINGS, destination

HEAD = """\
# Options

`pytest-brt` adds these options to pytest. The first of a group choose what the run is for;
without any of them the plugin does nothing at all. Three say how the project's tests are run and
may also be set in its pytest settings (`pytest.ini`, `pyproject.toml`, …); the command line comes
first. All else is set on the command line only, or the model by `PYTEST_BRT_MODEL`, so that
somebody else's checkout cannot change it.
"""
#: The groups of options, each in the order of the table.
GROUPS = {
    "Tests from bug reports": (
        "issue tests strategy budget write python env jobs samples buggy-file test-file mark"
    ),
    "Ranking patches": "rank-fixes guard executor",
    "Models (optional)": "model edit-model replies steps",
    "Isolation and limits": "timeout sandbox net memory show",
    "What a run leaves": "report",
    "Writing patches with a model": "repair",
}
TABLE = """
| option | what it does | in settings |
|---|---|---|
"""
TAIL = """
xdist's `-n K` is understood as `--brt-jobs K`: one process drives all work.

What the run's end means is said in [exit codes](ci.md#exit-codes), its output in
[reports](reports.md) and [ranking](ranking.md).
"""


def render() -> str:
    """Return the page."""
    parts = [HEAD]
    for title, names in GROUPS.items():
        lines = [
            _line(flag, metavar, text)
            for flag, metavar, _, _, text in OPTIONS
            if flag.removeprefix("--").removeprefix("brt-") in names.split()
        ]
        parts.append(f"\n## {title}\n{TABLE}{''.join(lines)}")
    return "".join([*parts, TAIL])


def _line(flag: str, metavar: str, text: str) -> str:
    spelt = f"`{flag}`" + (f" `{metavar}`" if metavar else "")
    setting = f"`{destination(flag)}`" if flag in SETTINGS else ""
    return f"| {spelt} | {text} | {setting} |\n"


if __name__ == "__main__":
    print(render(), end="")
