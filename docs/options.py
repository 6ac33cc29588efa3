"""Writes docs/options.md from the table of options, so that the two cannot differ.

python docs/options.py > docs/options.md
"""

from __future__ import annotations

from pytest_brt.option_table import SPECS

HEAD = """\
# Options

`pytest-brt` adds these options to pytest. The first ones choose what the run is for; without any
of them the plugin does nothing at all. Most have a twin in the project's pytest settings
(`pytest.ini`, `pyproject.toml`, …) and some an environment variable: the command line beats the
environment, the environment beats the settings, the settings beat the default.

| option | what it does | in settings | environment |
|---|---|---|---|
"""

TAIL = """
xdist's `-n K` is understood as `--brt-jobs K`: one process drives all work.

## Exit codes

| code | meaning |
|---|---|
| 0 | every issue has a test that fails for the reported reason; every ranking could be made |
| 1 | it does not, or something of ours broke (`F`; `--lf` repeats those) |
| 2 | interrupted; what was found so far is shown and written |
| 4 | an option or input cannot be used; one line says why, and nothing was run |
| 5 | nothing was selected |

Letters while it runs: `.` a test was found, or a patch was run; `x` an honest miss, or a patch
that does not apply (`-rx` shows the reasons); `F` something of ours broke.
"""


def render() -> str:
    """Return the page."""
    rows = []
    for spec in SPECS:
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
