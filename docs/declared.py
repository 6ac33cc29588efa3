"""Writes the options as plain data, which every start of pytest reads, from their table.

python docs/declared.py > pytest_brt/plugin/declared.py
"""

from __future__ import annotations

from pytest_brt.plugin.option_table import COMMANDS, GROUPS, SPECS
from pytest_brt.plugin.options import Mode

HEAD = '''\
"""The options as pytest declares them: plain data, so that a run without us pays for no more.

Made from `option_table` by ``python docs/declared.py``; not to be edited.
"""
# ruff: noqa: E501

# fmt: off
'''


def render() -> str:
    """Return the module."""
    dests = {spec.flag: spec.dest for spec in SPECS}
    lines = [f"    ({name!r}, {title!r})," for name, title in GROUPS.items()]
    parts = [HEAD, "#: Name and title of each group of the help.", "GROUPS = (", *lines, ")"]
    parts += [
        "#: Flags, name, group, metavar (None for a switch), help (None: it is not shown), and"
    ]
    parts += ["#: whether it may be repeated.", "OPTIONS = ("]
    for spec in SPECS:
        text = None if spec.group in COMMANDS else spec.help
        metavar = None if spec.switch else spec.metavar
        row = (spec.flags, spec.dest, spec.group, metavar, text, spec.repeat)
        parts.append(f"    {row!r},")
    parts += [
        ")",
        "#: Name and help of each setting, and whether it has several lines.",
        "SETTINGS = (",
    ]
    parts += [f"    {(spec.dest, spec.help, spec.repeat)!r}," for spec in SPECS if spec.ini]
    modes = tuple(dests[str(mode)] for mode in Mode if mode)
    parts += [")", "#: The options that choose what a run is for.", f"MODES = {modes!r}", ""]
    return "\n".join(parts)


if __name__ == "__main__":
    print(render(), end="")
