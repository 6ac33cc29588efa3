"""Hooks that other plugins implement to extend pytest-brt.

Each of the mappings adds to what is built in. A name that is given twice is a usage error
that names both plugins; a name that nobody gives is answered with the known ones.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pytest_brt.execute.engine import Engine
    from pytest_brt.model.opening import Factory
    from pytest_brt.rank.epr import Ranker
    from pytest_brt.reproduce.strategy import Strategy
    from pytest_brt.types import CandidateTest, Issue, Judgement, RunRecord


def pytest_brt_models(config: pytest.Config) -> Mapping[str, Factory]:  # type: ignore[empty-body]
    """Return model schemes: name → function from the address and the settings to a model.

    ``--brt-model echo:hello`` calls the function given for ``echo`` with ``"hello"``; the model
    must load nothing before it is first asked::

        def pytest_brt_models(config):
            return {"echo": lambda address, settings: EchoModel(address)}

    Answers of a model that has an ``identity``, a tuple of texts and paths of files that tell it
    from all others, are kept for later runs.
    """


def pytest_brt_strategies(config: pytest.Config) -> Mapping[str, Strategy]:  # type: ignore[empty-body]
    """Return strategies for ``--brt-strategy``: name → how tests are made.

    In a plugin::

        from pytest_brt.reproduce.strategy import Strategy

        def pytest_brt_strategies(config):
            return {"mine": Strategy(attempt=my_attempt)}
    """


def pytest_brt_sandboxes(config: pytest.Config) -> Mapping[str, Callable[..., Engine]]:  # type: ignore[empty-body]
    """Return sandboxes for ``--brt-sandbox``: name → function that opens an engine.

    It is called with the subject, and ``limits``, ``net`` and ``jobs`` by name.
    """


def pytest_brt_rankers(config: pytest.Config) -> Mapping[str, Ranker]:  # type: ignore[empty-body]
    """Return rules for ``--brt-ranker``: name → function from rows to ranks."""


def pytest_brt_tools(config: pytest.Config) -> Mapping[str, Callable[..., str]]:  # type: ignore[empty-body]
    r"""Return tools for the repair agent: name → function that answers with text.

    It gets what the model asks and the path of the project; the first line of its docstring is
    what the model is told of it. It may be used where information is collected::

        def pytest_brt_tools(config):
            def changelog(question, root):
                'Say what the changelog has about a word.'
                lines = Path(root, "CHANGELOG.md").read_text("utf-8").splitlines()
                return "\n".join(line for line in lines if question in line)

            return {"changelog": changelog}
    """


@pytest.hookspec(firstresult=True)
def pytest_brt_accept(issue: Issue, candidate: CandidateTest, judgement: Judgement) -> bool | None:
    """Say whether a candidate test is accepted; None leaves it to the next, at last to us.

    Called for each test that fails on the unpatched tree for the reported reason::

        def pytest_brt_accept(issue, candidate, judgement):
            if "eval(" in (candidate.source or ""):
                return False
    """


def pytest_brt_finished(record: RunRecord) -> None:
    """Look at everything that a run found out, after its last item."""
