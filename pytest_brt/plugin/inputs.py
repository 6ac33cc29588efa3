"""From options to a plan: the reports, patches and tests that the user named, read and checked."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import pytest

from pytest_brt.errors import UsageProblem
from pytest_brt.execute.subject import demand_project, find_subject
from pytest_brt.model.model import Model, open_model
from pytest_brt.model.replies import Replies
from pytest_brt.model.spec import read_spec
from pytest_brt.pipeline.keeping import reviews
from pytest_brt.pipeline.plan import Plan
from pytest_brt.pipeline.progress import Progress
from pytest_brt.plugin.cases import Cases, buggy_places, given_test_file, read_cases
from pytest_brt.plugin.options import Options
from pytest_brt.reproduce.registry import STRATEGIES
from pytest_brt.reproduce.strategy import REPEAT, Strategy, Workbench
from pytest_brt.sandbox.available import open_sandbox
from pytest_brt.sandbox.limits import Limits
from pytest_brt.sandbox.run_tests import Runner
from pytest_brt.store import LastRun, load_last_run
from pytest_brt.types import JudgedTest, Patch, Review

T = TypeVar("T")
Given = Callable[[], tuple[JudgedTest, ...]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Inputs:
    """Everything that is known before the first item runs."""

    plan: Plan
    workbench: Workbench
    cases: Cases
    #: How far the run is.
    progress: Progress
    #: Where the tests come from when they are those of an earlier run.
    earlier: LastRun | None = None


def read_inputs(
    config: pytest.Config, options: Options, scratch: Path, closing: ExitStack
) -> Inputs:
    """Read and check what `options` name; `scratch` may hold what came from stdin.

    `closing` ends what is opened.

    Raises:
        BrtError: something cannot be used; nothing has been started then.
    """
    cases, root = read_cases(config, options, scratch), config.rootpath
    known = _extended(config, STRATEGIES, Strategy)
    agents = _known_agents(config, options)
    names = sorted({**known, **agents})
    for name in options.strategy:
        if name not in names:
            raise UsageProblem(f"--brt-strategy: unknown name {name!r} (known: {', '.join(names)})")
    strategies, cache = _strategies(options, known), cache_folder(config)
    engine = _open_project(root, options)
    closing.callback(engine.close)
    last = None if options.tests or options.issues else _last_run(cache, cases.patches.values())
    buggy = buggy_places(options.buggy_file, root)
    model, editor = _open_models(options, cache, root, closing)
    progress = Progress()
    workbench = Workbench(
        engine=engine,
        model=model,
        editor=editor,
        say=progress.say,
        samples=options.samples,
        steps=options.steps,
        buggy=tuple(dict.fromkeys(place.partition(":")[0] for place in buggy)),
        host=given_test_file(options.test_file, root),
        cache=cache,
    )
    issues = cases.issues
    ranked = [issue for issue in issues if options.repair in ("", issue.source)]
    plan = Plan(
        issues=issues,
        patches=tuple(cases.patches.values()),
        reviews=reviews(cache) if cache is not None else {},
        ranked=ranked[0].id if ranked else "",
        strategies=strategies,
        given=_given(root, options, engine, last),
        guard=options.guard,
        budget=options.budget,
        agents=_agents(options, agents),
        places=buggy,
        workers=_workers(options, closing) if options.executor else None,
        jobs=options.jobs,
        wants_places=bool(options.report) or config.get_verbosity() > 0,
    )
    return Inputs(plan=plan, workbench=workbench, cases=cases, progress=progress, earlier=last)


def _limits(options: Options) -> Limits:
    return Limits(seconds=options.timeout, memory_mb=options.memory)


def _open_project(root: Path, options: Options) -> Runner:
    demand_project(root)
    sandbox = open_sandbox(options.sandbox, net=options.net, shown=options.show)
    subject = find_subject(root, python=options.python, env=dict(options.env), sandbox=sandbox)
    return Runner(subject, sandbox, limits=_limits(options), jobs=options.jobs)


def _open_models(
    options: Options, cache: Path | None, root: Path, closing: ExitStack
) -> tuple[Model, Model | None]:
    """Return the model that thinks, and the one that writes code when that is another."""
    if options.model == "none":
        cache = None  # nobody is asked, so what was answered is not read
    replies = Replies(options.replies or (cache and cache / "replies.jsonl"), root)
    unfinished = replies
    if options.replies is None:
        unfinished = Replies(cache and cache / "unfinished-replies.jsonl", root)

    def opened(text: str) -> Model:
        model = Model(replies=replies, unfinished=unfinished)
        if text != "none":
            model = open_model(read_spec(text), replies, unfinished)
        closing.callback(model.close)
        return model

    model = opened(options.model)
    if options.edit_model in ("", options.model):
        return model, None
    return model, replace(opened(options.edit_model), usage=model.usage)


def _workers(options: Options, closing: ExitStack) -> Any:
    """Return the workers of the cluster that the user names."""
    from pytest_brt.pipeline.workers import Workers  # what ranks is a fifth of the package

    shut_in = partial(open_sandbox, options.sandbox, net=options.net, shown=options.show)
    workers = Workers(options.executor, shut_in, _limits(options))
    closing.callback(workers.close)
    return workers


def _known_agents(config: pytest.Config, options: Options) -> Mapping[str, Any]:
    """Return what can write fixes, where fixes are asked for."""
    if not options.repair:
        return {}
    from pytest_brt.agents.loop import Agent  # a fifth of the package
    from pytest_brt.agents.specs import REPAIRS

    if options.model == "none":
        raise UsageProblem(
            "--brt-repair: fixes are written by a model (add --brt-model gguf:FILE, or see "
            "'pytest-brt models')"
        )
    return _extended(config, REPAIRS, Agent)


def _agents(options: Options, known: Mapping[str, Any]) -> dict[str, Any]:
    """Return what the user wants of what can write fixes, `auto` for nothing."""
    names = [name for name in options.strategy if name in known]
    if known and not names:
        names = ["auto"]
    return {name: replace(known[name], runs=options.samples or known[name].runs) for name in names}


def _given(root: Path, options: Options, engine: Runner, last: LastRun | None) -> Given | None:
    """Return what finds the tests that no strategy makes; None when there are none."""
    if not options.tests and last is None:
        return None
    from pytest_brt.reproduce.user_tests import judge_given, load_targets, rejudge

    if last is not None:
        return partial(rejudge, last.tests, engine, REPEAT)
    targets = load_targets(options.tests, root, engine.subject.test_root)
    return partial(judge_given, targets, engine, REPEAT)


def cache_folder(config: pytest.Config) -> Path | None:
    """Return the folder for what may vanish; None without pytest's cache, or where none can be.

    Links in it go: a checkout may bring some, and what is kept would be written where they lead.
    """
    cache: Any = getattr(config, "cache", None)
    if cache is None:
        return None
    try:
        folder = Path(cache.mkdir("brt"))
        for path in (folder, *folder.iterdir()):
            if path.is_symlink():
                path.unlink()
        return folder if folder.is_dir() else Path(cache.mkdir("brt"))
    except OSError:
        return None  # the project is read-only: what is not kept costs the next run time


def _last_run(cache: Path | None, patches: Iterable[Patch]) -> LastRun | None:
    """Return the last run, None where it left no tests and the patches bring some."""
    last = load_last_run(cache) if cache is not None else LastRun()
    why = ""
    if not last.tests:
        from pytest_brt.rank.patch_tests import may_bring_tests

        if any(map(may_bring_tests, patches)):
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


def _strategies(options: Options, known: Mapping[str, Strategy]) -> dict[str, Strategy]:
    """Return the strategies of tests that the user wants, by name, in the order given.

    Without a model, `auto` is replay: all that there is then.
    """
    is_alone = options.model == "none"
    names = [name for name in options.strategy if name in known] or ["auto"]
    chosen = {}
    for name in ("replay" if is_alone and name == "auto" else name for name in names):
        if is_alone and known[name].asks:
            raise UsageProblem(
                f"--brt-strategy: {name!r} needs a model (add --brt-model gguf:FILE, or see "
                "'pytest-brt models')"
            )
        chosen[name] = known[name].sampled(options.samples)
    return chosen


def _extended(config: pytest.Config, built_in: Mapping[str, T], kind: type[T]) -> dict[str, T]:
    """Return `built_in` together with what of this kind other plugins add to it.

    Raises:
        UsageProblem: a name is given twice.
    """
    known = dict(built_in)
    for added in config.hook.pytest_brt_strategies(config=config):
        for name, strategy in added.items():
            if isinstance(strategy, kind):
                if name in known:
                    raise UsageProblem(
                        f"--brt-strategy: {name!r} is given by two plugins (block one with "
                        "-p no:NAME)"
                    )
                known[name] = strategy
    return known
