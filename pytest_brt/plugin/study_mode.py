"""``pytest --brt-evaluate DATASET``: one item per bug and stage, and the tables at the end.

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

from pytest_brt.agent.prompts import Prompts, Wording, read_wording
from pytest_brt.errors import BrtError, SubjectProblem, UsageProblem
from pytest_brt.evaluate.cluster import Cluster, open_cluster
from pytest_brt.evaluate.dataset import Instance, read_dataset, read_predictions
from pytest_brt.evaluate.environments import read_environments
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
from pytest_brt.evaluate.write import write_study
from pytest_brt.execute.launch import open_sandbox
from pytest_brt.plugin.cases import absolutepath
from pytest_brt.plugin.inputs import chosen_strategies, gather, named, open_chosen_models
from pytest_brt.plugin.items import result_of
from pytest_brt.plugin.mode_items import PROGRESS, Missed, OurFiles, OurItem, Progress
from pytest_brt.plugin.options import Options
from pytest_brt.render.words import count
from pytest_brt.repair.strategy import BUILT_IN
from pytest_brt.reproduce.registry import STRATEGIES
from pytest_brt.shown import show


class StageItem(OurItem):
    """One stage of one bug."""

    def __init__(self, *, study: Study, instance: Instance, stage: Stage, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.study = study
        self.instance = instance
        self.stage = stage

    def runtest(self) -> None:
        """Wait for the stage; raise Missed when it found nothing."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            result = result_of(self.study.stage(self.instance, self.stage))
        if result.problem:
            raise SubjectProblem(result.problem)
        self.seconds = result.setup + result.seconds + result.judging
        missing = missed(result)
        if missing:
            raise Missed(missing)


class StudySession(OurFiles):
    """The plugin of a run with --brt-evaluate."""

    def __init__(self, config: pytest.Config, options: Options) -> None:
        self.options = options
        path = absolutepath(options.evaluate)
        instances = read_dataset(path)
        bugs = {path / one.id / "issue.md": (one,) for one in instances}
        super().__init__(config, bugs if path.is_dir() else {path: instances})
        self.folder = (options.results or Path("brt-results") / path.stem).absolute()
        strategies = gather(config, "pytest_brt_strategies", STRATEGIES)
        chosen = chosen_strategies(options, strategies)
        model, editor = open_chosen_models(config, options)
        self._models = (model, editor)
        self._cluster: Cluster | None = None
        tables = read_environments(options.environments) if options.environments else {}
        settings = _settings(options, tuple(chosen), read_wording(options.prompts))
        plan = StudyPlan(
            dataset=path.name,
            instances=instances,
            environments=tables,
            predictions=read_predictions(Path(name) for name in options.predictions),
            repos=options.repos,
            settings=settings,
            asked=tuple(Stage(name) for name in options.stages),
        )
        progress = config.stash.setdefault(PROGRESS, Progress())
        prompts = Prompts(settings.prompts)
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


def _repair_settings(options: Options) -> RepairSettings | None:
    """Return what to repair by; None where a study repairs nothing.

    Raises:
        UsageProblem: there is no model, no such strategy, or a part that no study has.
    """
    if Stage.REPAIR not in options.stages:
        return None
    if options.model == "none":
        raise UsageProblem(
            "--brt-stages: fixes are written by a model: 'repair' needs one (add --brt-model "
            "gguf:FILE, or see 'pytest-brt models')"
        )
    if "place" not in options.given and any("place" in parts for parts in options.without):
        raise UsageProblem(
            "--brt-without: 'place' takes nothing away where no repair is told the place (add "
            "--brt-given place)"
        )
    for name in options.repair_strategy:
        named("--brt-repair-strategy", name, BUILT_IN)
    return RepairSettings(
        strategies=options.repair_strategy, without=options.without, variants=options.variants
    )


def _settings(options: Options, strategies: tuple[str, ...], prompts: Wording) -> StudySettings:
    names = (field.name for field in fields(StudySettings))
    given: dict[str, Any] = {name: getattr(options, name, None) for name in names}
    ours = {
        "strategies": strategies,
        "prompts": prompts,
        "repairs": _repair_settings(options),
        "context": options.engine.context,
    }
    return StudySettings(**given | ours)
