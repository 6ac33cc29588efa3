"""``pytest --brt-gate BASE..HEAD``: one item per test that a change adds or changes.

Passes when the test fails without the change and passes with it. The run as a whole succeeds
when at least one does and none fails with the change: exit codes 0 yes, 1 no, 5 no test changed.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator
from pathlib import Path
from typing import Any, assert_never

import pytest

from pytest_brt.errors import BrtError, UsageProblem
from pytest_brt.execute.engine import TestTarget
from pytest_brt.plugin.collection import GoalMissed, OwnCollection, OwnItem
from pytest_brt.plugin.inputs import open_project
from pytest_brt.plugin.options import read_options
from pytest_brt.render.causes import run_words
from pytest_brt.render.words import count
from pytest_brt.revisions.commits import History
from pytest_brt.revisions.gate import Gate, Gated, GateProof, changed_tests, split_range
from pytest_brt.shown import on_a_line, show


class GateItem(OwnItem):
    """A test that the change adds or changes."""

    def __init__(self, *, gate: Gate, test: TestTarget, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.gate = gate
        self.test = test
        self.gated: Gated | None = None

    def runtest(self) -> None:
        """Run it on both trees; anything but a proof is told with its reason."""
        self.gated = self.gate.look(self.test)
        proof, before, after = self.gated.proof, self.gated.before, self.gated.after
        self.user_properties.append(("brt-gate", proof.value))
        if proof is GateProof.FAILS_AFTER:
            raise BrtError(f"{_what_it_does(proof)}: {after.verdict}, {run_words(after)}")
        if proof is not GateProof.PROVEN:
            raise GoalMissed(f"{_what_it_does(proof)}: {before.verdict}, {run_words(before)}")


class GateSession(OwnCollection):
    """The plugin of a run with --brt-gate."""

    def __init__(self, config: pytest.Config) -> None:
        """Read the range.

        Raises:
            BrtError: the range, or the project, cannot be used.
        """
        options = read_options(config)
        if options.reports:
            raise UsageProblem(
                "--brt-gate writes no report (use pytest's --junitxml; -rs shows reasons)"
            )
        history = History(config.rootpath)
        base, head = (history.revision(name) for name in split_range(options.gate))
        base = history.fork(base, head)
        files: dict[Path, tuple[TestTarget, ...]] = {}
        for test in changed_tests(history, base, head):
            path = config.rootpath / test.path
            if not path.exists():
                raise UsageProblem(
                    f"--brt-gate: no such file in the working tree: {test.path!r} "
                    f"(check out {split_range(options.gate)[1]} first)"
                )
            files[path] = (*files.get(path, ()), test)
        super().__init__(config, files)
        self.engine = open_project(config, options)
        self.gate = Gate(history, self.engine, base, head, repeat=options.repeat)
        self.about = f"{base.short}..{head.short}"
        self.proofs: list[GateProof] = []

    def pytest_report_header(self) -> list[str]:
        """Say what is compared."""
        tests = count(sum(len(tests) for tests in self.files.values()), "changed test")
        about = on_a_line(self.about)
        return [f"brt: gate {about}; {tests}; sandbox {self.engine.level}"]

    def items(self, inside: Any, parent: pytest.File) -> Iterator[GateItem]:
        """Yield an item per changed test of a file."""
        for test in inside:
            # '::' in a name is read as a node id of its own by --lf and by pytest 9.
            name = test.node.replace("::", ".")
            yield GateItem.from_parent(parent, name=name, gate=self.gate, test=test)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtestloop(self, session: pytest.Session) -> Generator[None, object, object]:
        """Fail the run when nothing is proven."""
        result = yield
        items = [item for item in session.items if isinstance(item, GateItem)]
        self.proofs = [item.gated.proof for item in items if item.gated is not None]
        if items and not self.config.option.collectonly and GateProof.PROVEN not in self.proofs:
            session.testsfailed = session.testsfailed or 1
        return result

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Say in one line what the change shows."""
        proven = self.proofs.count(GateProof.PROVEN)
        if not self.files:
            text = "gate: no test is added or changed"
        elif self.proofs:
            text = "gate: the changed test fails without the change and passes with it"
            if not proven == len(self.proofs) == 1:
                does = f"{proven} fail without the change and pass with it"
                text = f"gate: of {count(len(self.proofs), 'changed test')}, {does}"
        else:
            return
        show(terminalreporter, text, green=proven > 0, red=proven == 0)

    def pytest_unconfigure(self) -> None:
        """End every process."""
        self.engine.close()


def _what_it_does(proof: GateProof) -> str:
    """Return what a changed test does, as in "fails with the change"."""
    match proof:
        case GateProof.PROVEN:
            return "fails without the change and passes with it"
        case GateProof.PASSES_BEFORE:
            return "passes without the change"
        case GateProof.UNTESTABLE:
            return "cannot be run without the change"
        case GateProof.UNSTABLE:
            return "does not always fail without the change"
        case GateProof.FAILS_AFTER:
            return "fails with the change"
        case _:
            assert_never(proof)
