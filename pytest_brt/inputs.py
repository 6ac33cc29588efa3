"""From options to a plan: the reports, patches and tests that the user named, read and checked."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from pytest_brt.dialogue.prompts import Prompts
from pytest_brt.errors import UsageProblem
from pytest_brt.execute.engine import Engine
from pytest_brt.execute.launch import open_engine
from pytest_brt.execute.remote import RemoteEngine, open_cluster
from pytest_brt.execute.row import Limits
from pytest_brt.execute.subject import find_subject
from pytest_brt.extensions import gather, named
from pytest_brt.issue import load_issue
from pytest_brt.model.base import Model, Settings
from pytest_brt.model.opening import builtin_factories, open_models
from pytest_brt.model.recording import RecordedModel
from pytest_brt.options import Options
from pytest_brt.patches import read_patches
from pytest_brt.plan import Case, Plan
from pytest_brt.progress import PROGRESS, Progress
from pytest_brt.rank.branches import write_branches
from pytest_brt.rank.draw import can_vary
from pytest_brt.rank.epr import Ranker, rank_by_epr
from pytest_brt.rank.history import History
from pytest_brt.rank.weighted import rank_by_weight
from pytest_brt.repair_inputs import buggy_places, repair_plan
from pytest_brt.reproduce.given import judge_given, load_targets, rejudge
from pytest_brt.reproduce.known import STRATEGIES
from pytest_brt.reproduce.strategy import Strategy, Workbench
from pytest_brt.store import LastRun, load_last_run, load_spent
from pytest_brt.types import Cost, Issue, JudgedTest, Patch


def absolutepath(path: str | Path) -> Path:
    """Return `path` from the root of the file system, ``..`` taken out, as pytest names it."""
    return Path(os.path.abspath(path))  # noqa: PTH100 - resolve() would follow links


Given = Callable[[], tuple[JudgedTest, ...]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Inputs:
    """Everything that is known before the first item runs."""

    plan: Plan
    workbench: Workbench
    #: What earlier runs here spent on the model.
    spent: Cost
    #: The files that pytest collects, in order: an issue (no patches), or a file of patches.
    paths: Mapping[Path, tuple[Case, tuple[Patch, ...]]]
    #: Where the tests come from when they are those of an earlier run, "" else.
    earlier: str = ""


def read_inputs(config: pytest.Config, options: Options, scratch: Path) -> Inputs:
    """Read and check what `options` name; `scratch` may hold what came from stdin.

    Raises:
        BrtError: something cannot be used; nothing has been started then.
    """
    issues = {_issue_path(source, scratch): _read(config, source) for source in options.issues}
    folder, patches = _patches(config, options, scratch)
    cases = _cases(issues, folder, patches)
    strategies = gather(config, "pytest_brt_strategies", STRATEGIES)
    built_in: dict[str, Ranker] = {"weighted": rank_by_weight, "epr": rank_by_epr}
    rankers = gather(config, "pytest_brt_rankers", built_in)
    rank = named("--brt-ranker", options.ranker, rankers)
    chosen = chosen_strategies(options, strategies)
    prompts = Prompts(options.prompts)
    model, editor = open_chosen_models(config, options)
    engine = open_project(config, options)
    cache = cache_folder(config)
    try:
        last = None if options.tests or options.issues else _last_run(cache)
        given = _given(config, options, engine, last)
        buggy = buggy_places(options.buggy, Path(engine.subject.root))
        repairs = repair_plan(config, options, cases, buggy)
    except UsageProblem:
        engine.close()
        raise
    plan = Plan(
        cases=cases,
        strategies=chosen,
        given=given,
        rank=rank,
        accept=_accept(config),
        guard=options.guard,
        vary=options.vary and can_vary(),
        budget=options.budget,
        repairs=repairs,
    )
    progress = config.stash.setdefault(PROGRESS, Progress())
    workbench = Workbench(
        engine=engine,
        repeat=options.repeat,
        keep=options.keep,
        model=model,
        editor=editor,
        say=progress.say,
        prompts=prompts,
        samples=options.samples,
        steps=options.steps,
        agree=options.agree,
        buggy=tuple(dict.fromkeys(place.partition(":")[0] for place in buggy)),
        seed=options.seed,
        cache=cache,
        record=options.record,
    )
    spent = load_spent(cache, model.name) if cache is not None else Cost()
    return Inputs(
        plan=plan,
        workbench=workbench,
        spent=spent,
        paths=_paths(issues, cases, folder),
        earlier=last.about if last is not None else "",
    )


def _issue_path(source: str, scratch: Path) -> Path:
    return scratch / "stdin.md" if source == "-" else _plain("--brt-issue", source)


def _plain(option: str, source: str | Path) -> Path:
    path = absolutepath(source)
    if "[" in str(path) or "::" in str(path):
        raise UsageProblem(
            f"{option}: pytest reads '[' and '::' in a path as part of a test's name: "
            f"{str(source)!r} (rename it; a report can also be given as '-' on stdin)"
        )
    return path


def _read(config: pytest.Config, source: str) -> Issue:
    if source != "-":
        return load_issue(source, sys.stdin.buffer)
    capture: Any = config.pluginmanager.getplugin("capturemanager")
    if capture is None:
        return load_issue(source, sys.stdin.buffer)
    capture.suspend_global_capture(in_=True)
    try:
        return load_issue(source, sys.stdin.buffer)
    finally:
        capture.resume_global_capture()


def _patches(
    config: pytest.Config, options: Options, scratch: Path
) -> tuple[Path | None, tuple[Patch, ...]]:
    """Return the folder of patches and those in it; of branches it is made in `scratch`."""
    if options.branches:
        folder = scratch / "branches"
        write_branches(History(config.rootpath), options.branches, folder)
        found = read_patches(folder)
        named = (replace(patch, name=patch.name.removesuffix(".diff")) for patch in found)
        return folder, tuple(named)
    if options.patches is None:
        return None, ()
    found = read_patches(options.patches)
    return options.patches.parent if options.patches.is_file() else options.patches, found


def _cases(
    issues: Mapping[Path, Issue], folder: Path | None, patches: tuple[Patch, ...]
) -> tuple[Case, ...]:
    if folder is None:
        return tuple(Case(issue=issue) for issue in issues.values())
    if not issues:
        return (Case(issue=None, patches=patches),)
    if len(issues) == 1:
        return (Case(issue=next(iter(issues.values())), patches=patches),)
    cases = []
    for path, issue in issues.items():
        own = tuple(patch for patch in patches if patch.name.startswith(f"{path.stem}/"))
        if not own:
            raise UsageProblem(
                f"--rank-fixes: several issues need a folder of patches each: "
                f"no *.diff in {str(folder / path.stem)!r}"
            )
        cases.append(Case(issue=issue, patches=own))
    return tuple(cases)


def open_chosen_models(config: pytest.Config, options: Options) -> tuple[Model, Model | None]:
    """Return the model that thinks, and the one that writes code when that is another."""
    built_in = builtin_factories()
    factories = gather(config, "pytest_brt_models", built_in)
    cache = cache_folder(config)
    states = str(cache / "prefixes") if cache is not None else ""
    settings = Settings(context=options.context, jobs=options.jobs, state_dir=states)
    # Where a plugin adds nothing, one file with two adapters is loaded once.
    known = None if factories == built_in else factories
    model, editor = open_models(options.model, options.edit_model, settings, known)
    if options.record is None or model.name == "none":
        return model, None if editor is model else editor
    recorded = RecordedModel(model, str(options.record))
    return recorded, None if editor is model else RecordedModel(editor, str(options.record))


def open_project(config: pytest.Config, options: Options) -> Engine:
    """Return an engine for the project that pytest was started in; close it when done.

    Raises:
        BrtError: the project, its interpreter or the isolation cannot be had.
    """
    subject = find_subject(config.rootpath, python=options.python, env=dict(options.env))
    limits = Limits(seconds=options.timeout, memory_mb=options.memory)
    added: dict[str, Callable[..., Engine]] = gather(config, "pytest_brt_sandboxes", {})
    if options.sandbox in added:
        return added[options.sandbox](subject, limits=limits, net=options.net, jobs=options.jobs)
    cluster = None if options.executor == "threads" else open_cluster(options.executor)
    engine = open_engine(
        subject, sandbox=options.sandbox, net=options.net, limits=limits, jobs=options.jobs
    )
    if cluster is None:
        return engine
    return RemoteEngine(engine, cluster, sandbox=options.sandbox, net=options.net, limits=limits)


def _given(
    config: pytest.Config, options: Options, engine: Engine, last: LastRun | None
) -> Given | None:
    """Return what finds the tests that no strategy makes; None when there are none."""
    if options.tests:
        targets = load_targets(options.tests, config.rootpath, engine.subject.test_root)
        return lambda: judge_given(targets, engine, options.repeat)
    if last is None:
        return None
    tests = last.tests
    return lambda: rejudge(tests, engine, options.repeat)


def cache_folder(config: pytest.Config) -> Path | None:
    """Return the folder for what may vanish; None without pytest's cache, or where none can be."""
    cache: Any = getattr(config, "cache", None)
    try:
        return Path(cache.mkdir("brt")) if cache is not None else None
    except OSError:
        return None  # the project is read-only: what is not kept costs the next run time


def _last_run(cache: Path | None) -> LastRun:
    last = load_last_run(cache) if cache is not None else LastRun(tests=())
    tests = last.tests
    if not tests:
        raise UsageProblem(
            "--rank-fixes: nothing to rank by: add --brt-issue FILE or --brt-tests PATH "
            "(the last run left no tests)"
        )
    if len({judged.test.issue for judged in tests}) > 1:
        raise UsageProblem(
            "--rank-fixes: the last run wrote tests for several issues: "
            "name the one that the patches are for with --brt-issue FILE"
        )
    return last


def chosen_strategies(options: Options, known: Mapping[str, Strategy]) -> dict[str, Strategy]:
    """Return the strategies that the user wants, by name, in the order given.

    Without a model, `auto` is replay: all that there is then.
    """
    chosen: dict[str, Strategy] = {}
    for name in options.strategies:
        strategy = named("--brt-strategy", name, known)
        if options.model == "none" and strategy.asks:
            if name != "auto":
                raise UsageProblem(
                    f"--brt-strategy: {name!r} needs a model (add --brt-model gguf:FILE, or see "
                    "'pytest-brt models')"
                )
            name, strategy = "replay", known["replay"]  # noqa: PLW2901 - what it stands for
        if options.samples is not None and strategy.runs > 1:
            strategy = replace(strategy, runs=options.samples)
        chosen[name] = strategy
    return chosen


def _accept(config: pytest.Config) -> Callable[..., bool | None]:
    def accept(issue: object, candidate: object, judgement: object) -> bool | None:
        answer: bool | None = config.hook.pytest_brt_accept(
            issue=issue, candidate=candidate, judgement=judgement
        )
        return answer

    return accept


def _paths(
    issues: Mapping[Path, Issue], cases: tuple[Case, ...], folder: Path | None
) -> dict[Path, tuple[Case, tuple[Patch, ...]]]:
    paths: dict[Path, tuple[Case, tuple[Patch, ...]]] = {}
    for path, case in zip(issues, cases, strict=False):
        if not path.exists():  # it came from stdin
            path.write_text(case.issue.text if case.issue else "", encoding="utf-8")
        paths[path] = (case, ())
    for case in cases:
        for patch in case.patches:
            assert folder is not None, "there are patches"
            path = _plain("--rank-fixes", folder / patch.name)
            if not path.exists():  # one of several in a mailbox, "box.mbox#2", or a branch
                mailbox = path.name.rpartition("#")[0]
                path = path.with_name(mailbox or f"{path.name}.diff")
            paths[path] = (case, (*paths.get(path, (case, ()))[1], patch))
    return paths
