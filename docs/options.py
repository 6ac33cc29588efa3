"""Writes docs/options.md from the table of options, so that the two cannot differ.

python docs/options.py > docs/options.md
"""

from __future__ import annotations

from collections.abc import Sequence

from pytest_brt.plugin.option_table import COMMANDS, SPECS
from pytest_brt.plugin.option_values import Spec

HEAD = """\
# Options

`pytest-brt` adds these options to pytest. The first ones choose what the run is for; without any
of them the plugin does nothing at all. Most have a twin in the project's pytest settings
(`pytest.ini`, `pyproject.toml`, …); the command line comes first. Isolation,
the model and output paths are set only on the command line or by an environment variable, so that
somebody else's checkout cannot change them.

"""
TABLE = """
| option | what it does | in settings | environment |
|---|---|---|---|
"""
#: What is said of the options of commands of their own.
COMMANDS_HEAD = """
## `pytest-brt {name}`

`pytest-brt {name} {metavar}`, which is `pytest {flag}={metavar}`, takes these options too, `brt-`
or not:
"""

TAIL = """
xdist's `-n K` is understood as `--brt-jobs K`: one process drives all work.

What the run's end means is said in [exit codes](exit-codes.md), its output in
[reading the output](reading.md).
"""


def render() -> str:
    """Return the page."""
    parts = [HEAD, table([spec for spec in SPECS if spec.group not in COMMANDS])]
    for name, flag in COMMANDS.items():
        one = next(spec for spec in SPECS if spec.flag == flag)
        parts.append(COMMANDS_HEAD.format(name=name, metavar=one.metavar, flag=flag))
        parts.append(table([spec for spec in SPECS if spec.group == name and spec is not one]))
    return "".join([*parts, TAIL])


def table(specs: Sequence[Spec]) -> str:
    """Return a table of options."""
    rows = []
    for spec in specs:
        flags = ", ".join(f"`{flag}`" for flag in spec.flags)
        if spec.metavar:
            flags += f" `{spec.metavar}`"
        setting = f"`{spec.dest}`" if spec.ini else ""
        variable = f"`{spec.variable}`" if spec.variable else ""
        text = spec.help.replace("|", "\\|")
        rows.append(f"| {flags} | {text} | {setting} | {variable} |")
    return TABLE + "\n".join(rows) + "\n"


if __name__ == "__main__":
    print(render(), end="")
