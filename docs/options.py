"""Writes docs/options.md from the table of options, so that the two cannot differ.

python docs/options.py > docs/options.md
"""

from __future__ import annotations

from pytest_brt.plugin.option_list import (
    GROUPS,
    MORE_OPTIONS,
    OPTIONS,
    SETTINGS,
    VARIABLES,
    destination,
)

HEAD = """\
# Options

`pytest-brt` adds these options to pytest. The first of a group choose what the run is for;
without any of them the plugin does nothing at all. `pytest --help` lists the usual ones, and
`pytest-brt issue --help` all of them. Three say how the project's tests are run and may also be
set in its pytest settings (`pytest.ini`, `pyproject.toml`, …); the command line comes first. All
else is set on the command line or by an environment variable only, so that somebody else's
checkout cannot change it.
"""
TABLE = """
| option | what it does | in settings | environment |
|---|---|---|---|
"""
TAIL = """
xdist's `-n K` is understood as `--brt-jobs K`: one process drives all work.

What the run's end means is said in [exit codes](ci.md#exit-codes), its output in
[reports](reports.md) and [ranking](ranking.md).
"""


def render() -> str:
    """Return the page."""
    parts = [HEAD]
    for group, title in GROUPS.items():
        rows = [row for row in (*OPTIONS, *MORE_OPTIONS) if row[1] == group]
        lines = [_line(flag, metavar, text) for flag, _, metavar, _, _, text in rows]
        parts.append(f"\n## {title[0].upper()}{title[1:]}\n{TABLE}{''.join(lines)}")
    return "".join([*parts, TAIL])


def _line(flag: str, metavar: str, text: str) -> str:
    spelt = f"`{flag}`" + (f" `{metavar}`" if metavar else "")
    setting = f"`{destination(flag)}`" if flag in SETTINGS else ""
    variable = f"`{VARIABLES[flag]}`" if flag in VARIABLES else ""
    return f"| {spelt} | {text} | {setting} | {variable} |\n"


if __name__ == "__main__":
    print(render(), end="")
