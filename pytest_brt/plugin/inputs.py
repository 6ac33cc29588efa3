"""From options to a plan: the reports, patches and tests that the user named, read and checked."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, replace
from functools import partial
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest

from pytest_brt import __version__
from pytest_brt.codec import content_id
from pytest_brt.errors import UsageProblem
from pytest_brt.model.model import Model, open_model
from pytest_brt.model.replies import Replies
from pytest_brt.model.spec import read_spec
from pytest_brt.pipeline import Job, Plan
from pytest_brt.plugin.option_list import command_again
from pytest_brt.plugin.options import Options
from pytest_brt.render.answer import reviewed
from pytest_brt.render.report import Setting
from pytest_brt.report.github import find_address, read_report
from pytest_brt.report.load import load_issue
from pytest_brt.reproduce.registry import STRATEGIES
from pytest_brt.reproduce.strategy import REPEAT, Strategy, Workbench
from pytest_brt.sandbox.available import open_sandbox
from pytest_brt.sandbox.limits import Limits
from pytest_brt.sandbox.run_tests import Runner
from pytest_brt.store import Journal, LastRun, load_last_run, reviews
from pytest_brt.subject import demand_project, find_subject, hash_of
from pytest_brt.types import Issue, JudgedTest, Patch, Review

Given = Callable[[], tuple[JudgedTest, ...]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Inputs:
    """Everything that is known before the first item runs."""

    plan: Plan
    bench: Workbench
    #: The jobs by what pytest calls them: after the file of the patch, or in that of the report.
    nodes: Mapping[str, Job]
    #: What the run is made with.
    setting: Setting
    #: Where the tests come from when they are those of an earlier run.
    earlier: LastRun | None

    def header(self, options: Options) -> Iterator[str]:
        """Yield what runs, on what, and how it is isolated."""
        subject, sandbox = self.bench.engine.subject, self.bench.engine.sandbox
        strategies = ", ".join(self.plan.strategies) if options.issues else "ranking"
        asked = f"; model {self.bench.model.name}" if self.bench.model.server else ""
        yield (
            f"{strategies}; python {self.setting.python}{asked}; "
            f"sandbox {sandbox.isolation}; {options.jobs} jobs"
        )
        if Path(subject.root) != Path.cwd():
            yield f"project {subject.root}"
        for remark in sandbox.remarks:
            yield f"sandbox {sandbox.isolation}: {remark}"
        if self.earlier:
            words = filter(None, [f"({self.earlier.about})", reviewed(self.earlier.tests)])
            yield f"bug tests from the last run {'; '.join(words)}"
        for issue in self.plan.issues:
            if issue.unread:
                yield (
                    f"{issue.source}: {issue.unread / 1000:,.0f} KB of it are not read: only 10 KB "
                    "of a paragraph, 100 KB of prose and 300 blocks of code are (put logs into a "
                    "code fence)"
                )
        if asked:
            yield f"model time limit: {options.budget / 60:g} min"


def read_inputs(
    config: pytest.Config, options: Options, say: Callable[[str], None], closing: ExitStack
) -> Inputs:
    """Read and check what `options` name; `closing` ends what is opened.

    Raises:
        BrtError: something cannot be used; nothing has been started then.
    """
    root, cache = config.rootpath, cache_folder(config)
    tests, fixes = _strategies(config, options)
    issues = tuple({issue.id: issue for issue in _issues(config, options.issues)}.values())
    if options.rank_fixes and len(issues) > 1:
        raise UsageProblem(
            f"--rank-fixes: patches are ranked for one report, got {len(issues)} (run it for each)"
        )
    engine, workers = _open_project(root, options, closing)
    patches = _patches(options.rank_fixes, root)
    last = None if options.tests or issues else _last_run(cache, patches.values())
    setting = _setting(config, options, engine)
    buggy = [
        _python_file("--brt-buggy-file", path, root) + colon + lines
        for path, colon, lines in (place.partition(":") for place in options.buggy_file)
    ]
    ranked = [issue.id for issue in issues if options.repair in ("", issue.source)]
    plan = Plan(
        issues=issues,
        patches=tuple(patches.values()),
        reviews=reviews(cache) if cache else {},
        ranked=ranked[0] if ranked else "",
        strategies=tests,
        agents=fixes,
        given=_given(root, options, engine, last),
        guard=options.guard,
        budget=options.budget,
        places=tuple(buggy),
        elsewhere=workers and workers.run,
        jobs=workers.threads if workers else options.jobs,
        wants_places=bool(options.report) or config.get_verbosity() > 0,
    )
    bench = _open_bench(engine, options, cache, setting, closing)
    nodes = {
        f"{issue.source}::{job.name}": job
        for issue in issues
        for job in (*plan.attempts(issue.id), *plan.fixes(issue.id))
    }
    return Inputs(
        plan=plan,
        bench=replace(bench, buggy=tuple(place.partition(":")[0] for place in buggy), say=say),
        nodes=nodes | dict(zip(patches, plan.rows(plan.patches), strict=True)),
        setting=setting,
        earlier=last,
    )


def _setting(config: pytest.Config, options: Options, engine: Runner) -> Setting:
    subject, reports = engine.subject, [path.resolve() for path in options.report]
    return Setting(
        command=command_again(config.invocation_params.args),
        ended="",
        version=__version__,
        python=f"{'.'.join(map(str, subject.python_version))} ({subject.found})",
        sandbox=engine.sandbox.isolation,
        tree=hash_of(config.rootpath, without=reports),
    )


# -- reports and patches ------------------------------------------------------------------------


def _issues(config: pytest.Config, sources: Iterable[str]) -> Iterator[Issue]:
    """Yield reports: of standard input, files, or addresses."""
    for source in sources:
        address = None if source == "-" or Path(source).exists() else find_address(source)
        if address is None:
            yield load_issue(source, BytesIO(getattr(config.option, "brt_stdin", b"")))
        else:
            from pytest_brt.patches.sources import complete

            text = read_report(complete(address, config.rootpath))
            yield replace(load_issue("-", BytesIO(text)), source=source)


def _patches(sources: tuple[str, ...], root: Path) -> dict[str, Patch]:
    """Return patches by what pytest calls them: those of files by their paths."""
    if not sources:
        return {}
    from pytest_brt.patches.sources import read_proposals  # a report alone needs none of it

    return {
        Path(os.path.relpath(patch.file, root)).as_posix() if patch.file else patch.name: patch
        for patch in read_proposals(sources, root)
    }


def _python_file(flag: str, path: str, root: Path) -> str:
    """Return the path of a file that the user named, relative to the project."""
    file, root = (root / path).resolve(), root.resolve()
    if not file.is_file() or not file.is_relative_to(root):
        raise UsageProblem(
            f"{flag}: no such file in the project: {path!r} (give its path from {str(root)!r})"
        )
    if file.suffix != ".py":
        raise UsageProblem(f"{flag}: not a Python file: {path!r}")
    return file.relative_to(root).as_posix()


# -- what runs tests, and what is asked ---------------------------------------------------------


def _open_project(root: Path, options: Options, closing: ExitStack) -> tuple[Runner, Any]:
    """Return what runs tests here, and the workers of the cluster that the user names."""
    demand_project(root)
    shut_in = partial(open_sandbox, options.sandbox, net=options.net, shown=options.show)
    limits = Limits(seconds=options.timeout, memory_mb=options.memory)
    sandbox = shut_in()
    subject = find_subject(root, python=options.python, env=dict(options.env), sandbox=sandbox)
    engine = Runner(subject, sandbox, limits, jobs=options.jobs)
    closing.callback(engine.close)
    if not options.executor:
        return engine, None
    from pytest_brt.pipeline.ranking import Workers  # what ranks is a fifth of the package

    workers = Workers(options.executor, shut_in, limits)
    closing.callback(workers.close)
    return engine, workers


def _open_bench(
    engine: Runner, options: Options, cache: Path | None, setting: Setting, closing: ExitStack
) -> Workbench:
    """Return what strategies work with: the project, models, and what is kept."""
    root, test_file = Path(engine.subject.root), options.test_file
    # Where nobody is asked, what was answered is not read.
    kept = cache if options.model != "none" else None
    replies = Replies(options.replies or (kept and kept / "replies.jsonl"), root)
    unfinished = replies
    if options.replies is None:
        unfinished = Replies(kept and kept / "unfinished-replies.jsonl", root)

    def opened(text: str) -> Model:
        model = Model(replies=replies, unfinished=unfinished)
        if text != "none":
            model = open_model(read_spec(text), replies, unfinished)
        closing.callback(model.close)
        return model

    model, other = opened(options.model), options.edit_model
    is_one = other in ("", options.model)
    # What is written where, how many at a time, and how long it may take change no result.
    others = ("replies", "report", "jobs", "budget", "memory", "executor")
    decisive = vars(options) | dict.fromkeys(others)
    facts = setting.version, setting.tree, engine.subject, setting.sandbox, decisive
    return Workbench(
        engine=engine,
        model=model,
        editor=None if is_one else replace(opened(other), usage=model.usage),
        say=lambda _: None,
        samples=options.samples,
        steps=options.steps,
        host=test_file and _python_file("--brt-test-file", test_file, root),
        journal=Journal(cache / "journal.jsonl", content_id(*map(repr, facts))) if cache else None,
        cache=cache,
    )


def _strategies(
    config: pytest.Config, options: Options
) -> tuple[dict[str, Strategy], dict[str, Any]]:
    """Return the strategies of tests that the user wants, and those of fixes, by name."""
    tests, fixes = dict(STRATEGIES), {}
    if options.repair:
        from pytest_brt.agents.specs import REPAIRS  # a fifth of the package

        fixes = dict(REPAIRS)
    for added in config.hook.pytest_brt_strategies(config=config):
        for name, way in added.items():
            known: dict[str, Any] = tests if isinstance(way, Strategy) else fixes
            if known.setdefault(name, way) is not way:
                raise UsageProblem(
                    f"--brt-strategy: {name!r} is given by two plugins (block one with -p no:NAME)"
                )
    names = sorted({*tests, *fixes})
    for name in options.strategy:
        if name not in names:
            known_names = ", ".join(names)
            raise UsageProblem(f"--brt-strategy: unknown name {name!r} (known: {known_names})")
    wanted = [name for name in options.strategy if name in tests] or ["auto"]
    agents = [name for name in options.strategy if name in fixes] or ["auto"]
    if options.model == "none":  # `auto` is replay: all that there is then
        wanted = ["replay" if name == "auto" else name for name in wanted]
        if options.repair or any(tests[name].asks for name in wanted):
            raise UsageProblem(
                f"--brt-strategy: {', '.join(options.strategy)!r} needs a model (add --brt-model "
                "gguf:FILE, or see 'pytest-brt models')"
            )
    return (
        {name: tests[name].sampled(options.samples) for name in wanted},
        {name: replace(fixes[name], runs=options.samples or fixes[name].runs) for name in agents}
        if options.repair
        else {},
    )


# -- what an earlier run left -------------------------------------------------------------------


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
        return Path(cache.mkdir("brt"))
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


def _given(root: Path, options: Options, engine: Runner, last: LastRun | None) -> Given | None:
    """Return what finds the tests that no strategy makes; None when there are none."""
    if not options.tests and last is None:
        return None
    from pytest_brt.reproduce.user_tests import judge_given, load_targets, rejudge

    if last is not None:
        return partial(rejudge, last.tests, engine, REPEAT)
    targets = load_targets(options.tests, root, engine.subject.test_root)
    return partial(judge_given, targets, engine, REPEAT)
