"""Writes docs/options.md from the table of options, so that the two cannot differ.

python docs/options.py > docs/options.md
"""

from __future__ import annotations

from pytest_brt.plugin.option_table import SPECS

HEAD = """\
# Options

`pytest-brt` adds these options to pytest. The first ones choose what the run is for; without any
of them the plugin does nothing at all. Most have a twin in the project's pytest settings
(`pytest.ini`, `pyproject.toml`, …) and some an environment variable: the command line beats the
environment, the environment beats the settings, the settings beat the default. `--brt-json`,
`--brt-html` and `--brt-sarif FILE` still work: they are `--brt-report` for one kind of file each.

| option | what it does | in settings | environment |
|---|---|---|---|
"""

TAIL = """
xdist's `-n K` is understood as `--brt-jobs K`: one process drives all work.

What the run's end means is said in [exit codes](exit-codes.md), its output in
[reading the output](reading.md).
"""


def render() -> str:
    """Return the page."""
    rows = []
    for spec in SPECS:
        if spec.hidden:
            continue
        flags = ", ".join(f"`{flag}`" for flag in (spec.flag, *spec.aliases))
        if spec.metavar:
            flags += f" `{spec.metavar}`"
        setting = f"`{spec.dest}`" if spec.ini else ""
        variable = f"`{spec.variable}`" if spec.variable else ""
        text = spec.help.replace("|", "\\|")
        rows.append(f"| {flags} | {text} | {setting} | {variable} |")
    return HEAD + "\n".join(rows) + "\n" + TAIL


if __name__ == "__main__":
    print(render(), end="")
