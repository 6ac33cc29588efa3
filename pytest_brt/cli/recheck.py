"""``pytest-brt recheck DIR``: run recorded evidence again and say whether it still holds."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

from pytest_brt.codec import to_json
from pytest_brt.errors import UsageProblem
from pytest_brt.execute.engine import Limits
from pytest_brt.execute.launch import open_engine
from pytest_brt.execute.layout import tree_hash
from pytest_brt.execute.subject import find_subject
from pytest_brt.plugin.files import read_key
from pytest_brt.plugin.option_values import ENDINGS, pair
from pytest_brt.render.evidence import Setting, sha256
from pytest_brt.revisions.recheck import read_folder, recheck
from pytest_brt.shown import on_a_line, say
from pytest_brt.types.subject import Subject


def set_up(parser: argparse.ArgumentParser) -> None:
    """Say what the command takes."""
    parser.description = (
        "Run what `--brt-record DIR` kept again. Exit code 0: all of it holds; "
        "1: some does not; 4: it cannot be read or run."
    )
    parser.add_argument("folder", metavar="DIR", help="folder written by --brt-record")
    parser.add_argument(
        "--python", metavar="PATH", help="interpreter (default: the project's own, as pytest's)"
    )
    parser.add_argument(
        "--env", metavar="NAME=VALUE", action="append", default=[], help="environment; repeatable"
    )
    parser.add_argument(
        "--key", metavar="FILE", type=Path, help="check the signature with the key in FILE"
    )
    parser.add_argument(
        "--sandbox", metavar="NAME", help="isolation (default: ns where it was recorded, else auto)"
    )
    parser.add_argument("--net", choices=("none", "host"), default="none", help="default: none")
    parser.add_argument("-v", "--verbose", action="store_true", help="show also what holds")
    parser.set_defaults(command=_recheck)


def _recheck(arguments: argparse.Namespace) -> int:
    folder = read_folder(Path(arguments.folder), read_key(arguments.key, "--key"))
    setting = folder.evidence.setting
    root = Path(arguments.root).resolve()
    # Only what is a report by its name: a folder must not say which code does not count.
    reports = [root / name for name in setting.reports if name.endswith(ENDINGS)]
    tree = tree_hash(root, without=(Path(arguments.folder).resolve(), *reports))
    # What runs, and how it is kept in, is the user's to say: a folder may come from anywhere.
    sandbox = arguments.sandbox or ("ns" if setting.sandbox == "ns" else "auto")
    try:
        env = dict(map(pair, arguments.env))
    except ValueError as error:
        raise UsageProblem(f"--env: {error}, got {arguments.env!r}") from error
    subject = find_subject(root, python=arguments.python, env=env, sandbox=sandbox)
    if folder.signed is False:
        say("signature not verified; pass --key FILE")
    if sha256(to_json(subject.env)) != setting.env_hash:
        names = on_a_line(", ".join(setting.env_names)) or "none"
        say(f"the environment differs from the recorded one (variables recorded: {names})")
    for line in _differences(setting, subject, arguments.net):
        say(line)
    limits = Limits(seconds=setting.seconds, memory_mb=setting.memory_mb)
    kept = lost = 0
    with closing(open_engine(subject, sandbox=sandbox, net=arguments.net, limits=limits)) as engine:
        for claim in recheck(folder, engine, tree):
            kept += claim.holds
            lost += not claim.holds
            if arguments.verbose or not claim.holds:
                what = on_a_line(f"{claim.about}: {claim.detail}")
                say(f"{'holds' if claim.holds else 'LOST '}  {what}")
    words = f"{lost} of {kept + lost} recorded facts do not hold" if lost else "everything holds"
    say(f"{words} ({kept + lost} facts checked, sandbox {engine.level})")
    return 1 if lost else 0


def _differences(setting: Setting, subject: Subject, net: str) -> Iterator[str]:
    """Say what was recorded otherwise than it is run now."""
    versions = "Python {}.{} and pytest {}.{}"
    then = versions.format(*setting.python_version, *setting.pytest_version)
    now = versions.format(*subject.python_version, *subject.pytest_version)
    if then != now:
        yield f"recorded with {then}; run with {now} (choose another: --python)"
    if setting.net != "none" and net == "none":
        yield "recorded with network access; run without it (--net host allows it)"
