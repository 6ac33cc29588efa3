"""``pytest --brt-study FILE``: one item per bug and stage, and the tables at the end.

A stage that finds nothing is skipped (``s``); a bug that cannot be set up fails (``F``),
is told in the result, and is tried again by the next run. What is finished is kept in the folder
of the results, so that an interrupted study goes on where it was.
"""

from __future__ import annotations

import warnings
from collections.abc import Generator, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import fields
from functools import cache, partial
from pathlib import Path
from typing import Any

import pytest

from pytest_brt.agent.prompts import Prompts
from pytest_brt.errors import BrtError, SubjectProblem, UsageProblem
from pytest_brt.evaluate.cluster import Cluster, open_cluster
from pytest_brt.evaluate.dataset import Instance, read_dataset, read_predictions
from pytest_brt.evaluate.job import StudyKit
from pytest_brt.evaluate.record import RepairSettings, Stage, StudySettings, missed
from pytest_brt.evaluate.study import (
    Carry,
    Ledger,
    Study,
    StudyPlan,
    carry_away,
    carry_out,
    check_strategies,
    setting_of,
)
from pytest_brt.evaluate.study_file import StudyFile, read_study_file
from pytest_brt.evaluate.write import write_study
from pytest_brt.plugin.cases import absolutepath
from pytest_brt.plugin.collection import PROGRESS, GoalMissed, OwnCollection, OwnItem
from pytest_brt.plugin.extensions import collect_extensions, lookup
from pytest_brt.plugin.inputs import chosen_strategies, open_chosen_models
from pytest_brt.plugin.items import result_of
from pytest_brt.plugin.options import Options, read_options
from pytest_brt.render.words import count
from pytest_brt.repair.strategy import BUILT_IN
from pytest_brt.reproduce.registry import STRATEGIES
from pytest_brt.run.progress import Progress
from pytest_brt.sandbox.available import open_sandbox
from pytest_brt.shown import show


class StageItem(OwnItem):
    """One stage of one bug."""

    def __init__(self, *, study: Study, instance: Instance, stage: Stage, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.study = study
        self.instance = instance
        self.stage = stage

    def runtest(self) -> None:
        """Wait for the stage; raise GoalMissed when it found nothing."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            result = result_of(self.study.stage(self.instance, self.stage))
        if result.problem:
            raise SubjectProblem(result.problem)
        self.seconds = result.setup + result.seconds + result.judging
        missing = missed(result)
        if missing:
            raise GoalMissed(missing)


class StudySession(OwnCollection):
    """The plugin of a run with --brt-study."""

    def __init__(self, config: pytest.Config) -> None:
        """Read the study, and the options that go before what it says of them."""
        path = absolutepath(config.getoption("brt_study"))
        study = read_study_file(path)
        said = {name: value for name, value in study.options.items() if name != "without"}
        options = self.options = read_options(config, of_study=said)
        dataset = Path(study.dataset)
        instances = read_dataset(dataset)
        bugs = {dataset / one.id / "issue.md": (one,) for one in instances}
        super().__init__(config, bugs if dataset.is_dir() else {dataset: instances})
        self.folder = Path(study.results or Path("brt-results", path.stem)).absolute()
        strategies = collect_extensions(config, "pytest_brt_strategies", STRATEGIES)
        chosen = chosen_strategies(options, strategies)
        model, editor = open_chosen_models(config, options)
        self._models = (model, editor)
        self._cluster: Cluster | None = None
        settings = _settings(options, study, tuple(chosen))
        plan = StudyPlan(
            dataset=dataset.name,
            instances=instances,
            environments=study.environments,
            predictions=read_predictions(map(Path, study.predictions)),
            repos=Path(study.repos) if study.repos else None,
            settings=settings,
            asked=study.stages,
        )
        progress = config.stash.setdefault(PROGRESS, Progress())
        prompts = Prompts()
        kit = StudyKit(
            strategies=chosen,
            open_sandbox=cache(
                partial(open_sandbox, settings.sandbox, net=settings.net, shown=settings.show)
            ),
            model=model,
            editor=editor,
            prompts=prompts,
            say=progress.say,
        )
        carry: Carry = partial(carry_out, kit=kit)
        if options.executor != "threads":
            check_strategies(chosen)
            self._cluster = open_cluster(options.executor)
            carry = partial(carry_away, cluster=self._cluster, folder=self.folder)
        self.executor = ThreadPoolExecutor(options.jobs, thread_name_prefix="brt-study")
        self.study = Study(plan, self.executor, carry, Ledger(self.folder, setting_of(settings)))
        self.closing: list[str] = []

    def pytest_report_header(self) -> list[str]:
        """Say what is studied, and where the results go."""
        plan = self.study.plan
        patches = sum(len(plan.pool(instance)) for instance in plan.instances)
        return [
            f"brt: study of {plan.dataset}: {len(plan.instances)} bugs, {patches} patches; "
            f"{', '.join(plan.settings.strategies)}; {self.options.jobs} jobs",
            f"brt: results in {self.folder}",
            *(f"brt: {note}" for note in self.options.notes),
        ]

    def items(self, inside: Any, parent: pytest.File) -> Iterator[StageItem]:
        """Yield an item per stage of the bugs in a file."""
        for instance in inside:
            for stage in self.study.plan.stages(instance):
                yield StageItem.from_parent(
                    parent,
                    name=f"{instance.id}-{stage}",
                    study=self.study,
                    instance=instance,
                    stage=stage,
                )

    def outside_name(self, path: Path) -> str:
        """Return the data set's own name."""
        return path.name

    # -- the loop -----------------------------------------------------------------------

    @pytest.hookimpl(wrapper=True)
    def pytest_runtestloop(self, session: pytest.Session) -> Generator[None, object, object]:
        """Start the work of all selected items, then let pytest wait for them one by one."""
        if not self.config.option.collectonly:
            # Workers that find it on their disk keep their results there.
            self.folder.mkdir(parents=True, exist_ok=True)
            for item in session.items:
                if isinstance(item, StageItem):
                    self.study.stage(item.instance, item.stage)
        return (yield)

    # -- the end ------------------------------------------------------------------------

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self) -> None:
        """Start nothing more, and write what is known."""
        self.executor.shutdown(wait=False, cancel_futures=True)
        if self.config.option.collectonly:
            return
        try:
            self.closing += write_study(self.study.result(), self.folder)
        except BrtError as error:
            self.closing.append(str(error))

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Show the tables."""
        if not self.closing:
            return
        terminalreporter.section("study")
        if self.study.ledger.taken:
            taken = count(self.study.ledger.taken, "result")
            show(terminalreporter, f"{taken} taken from an earlier run")
        for line in self.closing:
            show(terminalreporter, line)

    def pytest_unconfigure(self) -> None:
        """End every process."""
        for model in self._models:
            if model is not None:
                model.close()
        if self._cluster is not None:
            self._cluster.close()


def _repair_settings(options: Options, study: StudyFile) -> RepairSettings | None:
    """Return what to repair by; None where a study repairs nothing.

    Raises:
        UsageProblem: there is no model, no such strategy, or a part that no study has.
    """
    if Stage.REPAIR not in study.stages:
        return None
    if options.model == "none":
        raise UsageProblem(
            "study: fixes are written by a model: the stage 'repair' needs one (add --brt-model "
            "gguf:FILE, or see 'pytest-brt models')"
        )
    without = (options.without,) if options.without else study.without or ()
    if "place" not in study.given and any("place" in parts for parts in without):
        raise UsageProblem(
            "study: without 'place' nothing is taken away where no repair is told the place "
            '(given = ["place"])'
        )
    if without and "repairagent" not in options.repair_strategy:
        raise UsageProblem(
            "study: 'without' switches parts of repairagent off, which is not run "
            '(repair_strategies = ["repairagent"])'
        )
    for name in options.repair_strategy:
        lookup("--brt-repair-strategy", name, BUILT_IN)
    return RepairSettings(
        strategies=options.repair_strategy, without=without, variants=options.variants
    )


def _settings(options: Options, study: StudyFile, strategies: tuple[str, ...]) -> StudySettings:
    names = (field.name for field in fields(StudySettings))
    said: dict[str, Any] = {name: getattr(options, name, None) for name in names}
    ours = {
        "strategies": strategies,
        "given": study.given,
        "repairs": _repair_settings(options, study),
        "context": options.engine.context,
    }
    return StudySettings(**said | ours)
