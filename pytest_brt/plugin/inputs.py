"""What the options name, opened: the project, reports, patches, tests, models."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, TextIO

import pytest

from pytest_brt.errors import UsageProblem
from pytest_brt.model.model import Model, open_model
from pytest_brt.model.replies import Replies
from pytest_brt.model.spec import read_spec
from pytest_brt.pipeline import Tests
from pytest_brt.plugin.options import Options
from pytest_brt.report.github import find_address, read_report
from pytest_brt.report.load import load_issue, read_issue
from pytest_brt.reproduce.registry import STRATEGIES
from pytest_brt.reproduce.strategy import Strategy, Workbench
from pytest_brt.reproduce.user_tests import judge_given, load_targets, rejudge
from pytest_brt.sandbox.process import Limits
from pytest_brt.sandbox.run_tests import Runner
from pytest_brt.sandbox.sandbox import Sandbox, open_sandbox
from pytest_brt.store import LastRun
from pytest_brt.subject import demand_project, find_subject
from pytest_brt.types import Issue, Patch, Review

#: An added line of a patch, or the name of a changed file, that speaks of tests.
_SPEAKS = re.compile(r"^\+.*(?:(?:\b|_)test|assert)", re.MULTILINE)


def open_project(root: Path, options: Options) -> Runner:
    """Return what runs tests of the project at `root`; close it when done.

    Raises:
        BrtError: the project, its interpreter or the isolation cannot be had.
    """
    demand_project(root)
    sandbox = shut_in(options)
    subject = find_subject(
        root, python=options.python, env=dict(options.env), sandbox=sandbox
    )
    limits = Limits(seconds=options.timeout, memory_mb=options.memory)
    return Runner(subject, sandbox, limits, jobs=options.jobs)


def shut_in(options: Options) -> Sandbox:
    """Return the sandbox that the user wants."""
    return open_sandbox(options.sandbox, net=options.net, shown=options.show)


def cache_folder(config: pytest.Config) -> Path | None:
    """Return the folder for what may vanish; None without pytest's cache, or where none can be.

    Links in it go: a checkout may bring some, and what is kept would be written where they lead.
    """
    cache: Any = getattr(config, "cache", None)
    if cache is None:
        return None
    try:
        folder = Path(cache.mkdir("brt"))
        inside = folder.parent.resolve().is_relative_to(config.rootpath.resolve())
        if not (inside or Path(config.getini("cache_dir")).is_absolute()):
            return None  # the user named none: what leads elsewhere came with the project
        for path in (folder, *folder.iterdir()):
            if path.is_symlink():
                path.unlink()
        return Path(cache.mkdir("brt"))
    except OSError:
        return None  # the project is read-only: what is not kept costs the next run time


def read_issues(options: Options, root: Path, stdin: TextIO) -> tuple[Issue, ...]:
    """Return the reports, each once: of standard input, files, or addresses.

    Raises:
        UsageProblem: one cannot be read, or patches cannot be ranked for all of them.
    """
    issues: dict[str, Issue] = {}
    for source in options.issue:
        address = None if Path(source).exists() else find_address(source)
        if address is None:
            issue = load_issue(source, stdin.buffer)
        else:
            from pytest_brt.patches.sources import complete

            text = read_report(complete(address, root))
            issue = read_issue(text.decode("utf-8", "replace"), source)
        issues[issue.id] = issue
    if options.rank_fixes and len(issues) > 1:
        raise UsageProblem(
            f"--rank-fixes: patches are ranked for one report, got {len(issues)} (run it for each)"
        )
    return tuple(issues.values())


def read_patches(options: Options, root: Path) -> tuple[Patch, ...]:
    """Return the patches, of files, branches or pull requests.

    Raises:
        UsageProblem: one is not there, or cannot be read.
    """
    if not options.rank_fixes:
        return ()
    from pytest_brt.patches.sources import read_proposals  # a report alone needs none of it

    return read_proposals(options.rank_fixes, root)


def python_file(flag: str, named: str, root: Path) -> str:
    """Return a file that the user named as PATH or PATH:LINES, from the project's root on.

    Raises:
        UsageProblem: there is none.
    """
    path, sign, lines = named.partition(":")
    file = (root / path).resolve()
    if not file.is_file() or file.suffix != ".py" or not file.is_relative_to(root):
        raise UsageProblem(
            f"{flag}: no such Python file in the project: {path!r} (give its path from "
            f"{str(root)!r})"
        )
    return f"{file.relative_to(root)}{sign}{lines}"


def open_models(config: pytest.Config, options: Options, cache: Path | None) -> list[Model]:
    """Return the model that is asked, and then another that writes code where there is one.

    Raises:
        BrtError: there is none that is called so.
    """
    if options.model == "none":  # what was answered before is not read
        return [Model(replies=Replies(None), unfinished=Replies(None))]
    kept = options.replies or (cache and cache / "replies.jsonl")
    replies = unfinished = Replies(kept, config.rootpath)
    if options.replies is None:
        unfinished = Replies(cache and cache / "unfinished-replies.jsonl", config.rootpath)
    names = dict.fromkeys(filter(None, (options.model, options.edit_model)))
    models = [open_model(read_spec(name), replies, unfinished) for name in names]
    for model in models:
        config.add_cleanup(model.close)
    return [replace(model, usage=models[0].usage) for model in models]


def choose_strategies(
    config: pytest.Config, options: Options
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the strategies of tests that the user wants, and those of fixes, by name.

    Raises:
        UsageProblem: there is none of a name, or one needs a model that was not chosen.
    """
    tests: dict[str, Any] = dict(STRATEGIES)
    fixes: dict[str, Any] = {}
    if options.repair:
        from pytest_brt.agents.specs import REPAIRS  # a fifth of the package

        fixes |= REPAIRS
    for added in config.hook.pytest_brt_strategies(config=config):
        for name, way in added.items():
            ways = tests if isinstance(way, Strategy) else fixes
            ways[name] = way
    known = tests | fixes
    for name in options.strategy:
        if name not in known:
            names = ", ".join(sorted(known))
            raise UsageProblem(f"--brt-strategy: unknown name {name!r} (known: {names})")
    wanted = [name for name in options.strategy if name in tests] or ["auto"]
    if options.model == "none":  # `auto` is replay: all that there is then
        wanted = ["replay" if name == "auto" else name for name in wanted]
        if options.repair or any(tests[name].asks for name in wanted):
            raise UsageProblem(
                f"--brt-strategy: {', '.join(options.strategy)!r} needs a model (add --brt-model "
                "gguf:FILE, or see 'pytest-brt models')"
            )
    number = options.samples
    strategies = {name: tests[name].sampled(number) for name in wanted}
    if not options.repair:
        return strategies, {}
    agents = [name for name in options.strategy if name in fixes] or ["auto"]
    return strategies, {
        name: replace(fixes[name], runs=number or fixes[name].runs) for name in agents
    }


def rankable(last: LastRun, patches: Iterable[Patch]) -> LastRun | None:
    """Return the last run, None where it left no tests and the patches bring some.

    Raises:
        UsageProblem: there is nothing to rank by.
    """
    why = ""
    if not last.tests:
        if any(_SPEAKS.search(patch.text) for patch in patches):
            return None
        why = "the last run left no tests, and no patch brings one"
    elif all(t.review is Review.REJECTED for t in last.tests if t.judgement.candidate):
        why = "you rejected every bug test of the last run"
    elif len({judged.test.issue for judged in last.tests}) > 1:
        why = "the last run wrote tests for several issues"
    if why:
        raise UsageProblem(
            f"--rank-fixes: nothing to rank by: {why} (add --brt-issue FILE or --brt-tests PATH)"
        )
    return last


def given_tests(
    options: Options, bench: Workbench, last: LastRun | None
) -> Callable[[], Tests] | None:
    """Return what finds the tests that no strategy makes; None when there are none.

    Raises:
        UsageProblem: a file that the user names cannot be read.
    """
    if last is not None:
        return partial(rejudge, last.tests, bench.engine)
    if not options.tests:
        return None
    targets = load_targets(options.tests, bench.root, bench.engine.subject.test_root)
    return partial(judge_given, targets, bench.engine)
