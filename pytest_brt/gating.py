"""``pytest --brt-gate BASE..HEAD``: one item per test that a change adds or changes.

Passes when the test fails without the change and passes with it. The run as a whole succeeds
when at least one does and none fails with the change: exit codes 0 yes, 1 no, 5 no test changed.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator
from pathlib import Path
from typing import Any

import pytest

from pytest_brt.errors import BrtError
from pytest_brt.execute.engine import Engine
from pytest_brt.inputs import open_project
from pytest_brt.items import Missed
from pytest_brt.options import Options, read_options
from pytest_brt.rank.gate import ChangedTest, Gate, Gated, Proof, changed_tests, split_range
from pytest_brt.rank.history import History


def open_gate(config: pytest.Config) -> GateSession:
    """Read the range and return the plugin that runs it.

    Raises:
        pytest.UsageError: the range, or the project, cannot be used.
    """
    options = read_options(config)
    try:
        history = History(config.rootpath)
        base, head = (history.revision(name) for name in split_range(options.gate))
        tests = changed_tests(history, base, head)
        missing = [test.path for test in tests if not (config.rootpath / test.path).exists()]
        if missing:
            raise pytest.UsageError(
                f"--brt-gate: no such file in the working tree: {missing[0]!r} "
                f"(check out {split_range(options.gate)[1]} first)"
            )
        engine = open_project(config, options)
        gate = Gate(history, engine, base, head)
    except BrtError as error:
        raise pytest.UsageError(str(error)) from None
    return GateSession(config, options, gate, engine, tests, f"{base.short}..{head.short}")


class GateItem(pytest.Item):
    """A test that the change adds or changes."""

    def __init__(self, *, gate: Gate, test: ChangedTest, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.gate = gate
        self.test = test
        self.gated: Gated | None = None

    def runtest(self) -> None:
        """Run it on both trees; anything but a proof is told with its reason."""
        self.gated = self.gate.look(self.test)
        proof, before, after = self.gated.proof, self.gated.before, self.gated.after
        self.user_properties.append(("brt-gate", proof.value))
        if proof is Proof.FAILS_AFTER:
            raise NotGreen(f"{proof}: {after.verdict}, {after.reason}")
        if proof is not Proof.PROVEN:
            raise Missed(f"{proof}: {before.verdict}, {before.reason}")

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        """Show what is wrong with the test, or the project, as one line."""
        if isinstance(excinfo.value, BrtError | NotGreen):
            return str(excinfo.value)
        return super().repr_failure(excinfo, style)

    def reportinfo(self) -> tuple[Any, int | None, str]:
        """Return the heading of a failure."""
        return self.path, None, self.name


class NotGreen(Exception):
    """A test of the change fails with the change."""


class GateFile(pytest.File):
    """A test file of the change."""

    def __init__(self, *, gate: Gate, tests: tuple[ChangedTest, ...], **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.gate = gate
        self.tests = tests

    def collect(self) -> Iterator[GateItem]:
        """Yield an item per changed test."""
        for test in self.tests:
            # '::' in a name is read as a node id of its own by --lf and by pytest 9.
            name = test.node.replace("::", ".")
            yield GateItem.from_parent(self, name=name, gate=self.gate, test=test)


class GateSession:
    """The plugin of a run with --brt-gate."""

    def __init__(
        self,
        config: pytest.Config,
        options: Options,
        gate: Gate,
        engine: Engine,
        tests: tuple[ChangedTest, ...],
        about: str,
    ) -> None:
        self.config = config
        self.options = options
        self.gate = gate
        self.engine = engine
        self.about = about
        self.files: dict[Path, tuple[ChangedTest, ...]] = {}
        for test in tests:
            path = config.rootpath / test.path
            self.files[path] = (*self.files.get(path, ()), test)
        self.proofs: list[Proof] = []

    def pytest_report_header(self) -> list[str]:
        """Say what is compared."""
        count = sum(len(tests) for tests in self.files.values())
        return [f"brt: gate {self.about}; {count} tests changed; sandbox {self.engine.level}"]

    @pytest.hookimpl(tryfirst=True)
    def pytest_collection(self, session: pytest.Session) -> None:
        """Collect the changed test files and nothing else."""
        session.config.args[:] = [str(path) for path in self.files] or [str(self.config.rootpath)]

    @pytest.hookimpl(tryfirst=True)
    def pytest_ignore_collect(self, collection_path: Path) -> bool:
        """Look at the changed test files and the folders above them only."""
        path = collection_path
        return not any(ours == path or path in ours.parents for ours in self.files)

    @pytest.hookimpl(tryfirst=True)
    def pytest_collect_directory(self, path: Path, parent: pytest.Collector) -> pytest.Collector:
        """Never a Package: that would import the project's ``__init__``."""
        return pytest.Dir.from_parent(parent, path=path)

    @pytest.hookimpl(wrapper=True)
    def pytest_collect_file(
        self, file_path: Path, parent: pytest.Collector
    ) -> Generator[None, list[pytest.Collector], list[pytest.Collector]]:
        """Replace what others would collect from the changed test files."""
        yield
        tests = self.files.get(file_path)
        if not tests:
            return []
        return [GateFile.from_parent(parent, path=file_path, gate=self.gate, tests=tests)]

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(
        self, item: pytest.Item, call: pytest.CallInfo[None]
    ) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        """Show what is no proof as ``x`` with its reason."""
        report = yield
        if call.excinfo is not None and isinstance(call.excinfo.value, Missed):
            report.outcome = "skipped"
            report.wasxfail = str(call.excinfo.value)
        return report

    @pytest.hookimpl(wrapper=True)
    def pytest_runtestloop(self, session: pytest.Session) -> Generator[None, object, object]:
        """Fail the run when nothing is proven."""
        result = yield
        items = [item for item in session.items if isinstance(item, GateItem)]
        self.proofs = [item.gated.proof for item in items if item.gated is not None]
        if items and not self.config.option.collectonly and Proof.PROVEN not in self.proofs:
            session.testsfailed = session.testsfailed or 1
        return result

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Say in one line what the change shows."""
        proven = self.proofs.count(Proof.PROVEN)
        if not self.files:
            text = "gate: no test is added or changed"
        elif self.proofs:
            text = (
                f"gate: {proven} of {len(self.proofs)} changed tests fail without the change "
                "and pass with it"
            )
        else:
            return
        terminalreporter.write_line(text, green=proven > 0, red=proven == 0)

    def pytest_unconfigure(self) -> None:
        """End every process."""
        self.engine.close()
