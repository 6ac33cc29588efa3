"""From options to a plan: the reports, patches and tests that the user named, read and checked."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from pytest_brt.cases import Files, read_cases
from pytest_brt.dialogue.prompts import Prompts
from pytest_brt.errors import UsageProblem
from pytest_brt.execute.engine import Engine
from pytest_brt.execute.launch import open_engine
from pytest_brt.execute.remote import RemoteEngine, open_cluster
from pytest_brt.execute.row import Limits
from pytest_brt.execute.subject import find_subject
from pytest_brt.extensions import gather, named
from pytest_brt.model.base import Model, Settings
from pytest_brt.model.opening import builtin_factories, open_models
from pytest_brt.model.recording import RecordedModel
from pytest_brt.options import Options
from pytest_brt.plan import Plan
from pytest_brt.progress import PROGRESS, Progress
from pytest_brt.rank.draw import can_vary
from pytest_brt.rank.epr import Ranker, rank_by_epr
from pytest_brt.rank.weighted import rank_by_weight
from pytest_brt.repair_inputs import buggy_places, repair_plan
from pytest_brt.reproduce.given import judge_given, load_targets, rejudge
from pytest_brt.reproduce.known import STRATEGIES
from pytest_brt.reproduce.strategy import Strategy, Workbench
from pytest_brt.store import LastRun, load_last_run, load_spent
from pytest_brt.types import Cost, JudgedTest

Given = Callable[[], tuple[JudgedTest, ...]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Inputs:
    """Everything that is known before the first item runs."""

    plan: Plan
    workbench: Workbench
    #: What earlier runs here spent on the model.
    spent: Cost
    paths: Files
    #: Where the tests come from when they are those of an earlier run, "" else.
    earlier: str = ""


def read_inputs(config: pytest.Config, options: Options, scratch: Path) -> Inputs:
    """Read and check what `options` name; `scratch` may hold what came from stdin.

    Raises:
        BrtError: something cannot be used; nothing has been started then.
    """
    cases, paths = read_cases(config, options, scratch)
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
        paths=paths,
        earlier=last.about if last is not None else "",
    )


def open_chosen_models(config: pytest.Config, options: Options) -> tuple[Model, Model | None]:
    """Return the model that thinks, and the one that writes code when that is another."""
    built_in = builtin_factories()
    factories = gather(config, "pytest_brt_models", built_in)
    cache = cache_folder(config)
    states = str(cache / "prefixes") if cache is not None else ""
    settings = Settings(
        context=options.context,
        threads=options.threads,
        thinking=options.thinking,
        engine=options.engine,
        gpu_layers=options.gpu_layers,
        cpu_experts=options.cpu_experts,
        cache_type=options.cache_type,
        state_dir=states,
    )
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
    subject = find_subject(
        config.rootpath, python=options.python, env=dict(options.env), sandbox=options.sandbox
    )
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
