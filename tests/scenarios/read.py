"""Reads the JSON report of a run: the one file of scenarios, benches and studies that knows keys.

It needs the standard library alone, so that it reads what any version wrote, wherever that runs.
Nothing here is a sentence: what a run found out is told by statuses and reasons, which are words
of this file's own.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any


@dataclass(frozen=True, slots=True, kw_only=True)
class Test:
    """A test that was considered."""

    __test__ = False

    id: str
    name: str
    #: The report that it was made for, by its id.
    issue: str
    #: Where it is placed in the project, and the existing test file that it belongs into, or "".
    path: str
    host: str
    #: The whole module, "" where the project holds the file.
    source: str
    #: Who wrote it: "report", "model", "patch" or "person".
    author: str
    #: The patches that brought it.
    brought_by: tuple[str, ...]
    #: What it does on the unpatched tree, as in "FAIL".
    result: str
    #: It fails on the unpatched tree, every time, and may be about the bug.
    fails: bool
    #: It is likely enough to decide which patch leads.
    counts: bool
    #: What it is called about: how likely it is right.
    confidence: float
    #: What it rests on, as in "reported-exception"; "" where it is of no measured kind.
    evidence: str
    #: How many tests on the same evidence were measured; none for those of people and models.
    measured: int
    #: What a person said: "open", "accepted" or "rejected".
    review: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """A report, and what it came to."""

    issue: str
    #: As it was named on the command line.
    source: str
    #: "reproduced", "possible", "not-reproduced", "not-here", "" where it was not tried.
    status: str
    #: Words for why there is no test, and what to add, as in "no-code".
    reasons: tuple[str, ...]
    #: Commit that fixed it, where that is known.
    fixed_by: str
    #: Functions and files where the bug may be, likeliest first, as in "pkg/core.py::clamp".
    places: tuple[str, ...]
    #: All that people are told of it.
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Patch:
    """A candidate patch, and what became of it."""

    name: str
    #: Who wrote it, "" where nobody is named.
    author: str
    #: Why it could not be applied, as in "not-a-diff"; "" where it could.
    refused: str
    #: What is odd about it, as in "singles-out-input".
    remarks: tuple[str, ...]
    #: First and last rank that it may have; none where it has no place.
    ranks: tuple[int, int] | None
    #: Share of the bug tests that pass on it; none without any that ran.
    epr: float | None
    score: float | None
    #: What moved its score, in words.
    #: What it leads on, as in "reported-exception"; "" where it does not lead.
    leads_by: str
    #: What each test did on it, by the test's name; those that it brought itself are left out.
    results: Mapping[str, str]
    #: Existing tests that it breaks, and those that count against no patch.
    broken: tuple[str, ...]
    disputed: tuple[str, ...]
    #: Existing tests that ran on it.
    ran: int
    #: The same program as another one.
    copies: tuple[str, ...]
    #: What expressions give on it, by the expression.
    gives: Mapping[str, str]
    diff: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Ranking:
    """Patches, best first."""

    #: "best", "unsure", "tie", "only", "none", "contradicted" or "unfinished".
    status: str
    #: The patch that is first alone, surely or not; "" where there is none.
    leader: str
    #: Why it is so, as in "no-sure-test", "" where that is plain.
    reason: str
    #: In what those are level that share the first place, as in "odds"; "" where none do.
    level: str
    patches: tuple[Patch, ...]
    #: Patches that are missing, as the run was interrupted.
    missing: tuple[str, ...]
    #: Calls on which leading patches differ: what each patch gives, by the call.
    variations: Mapping[str, Mapping[str, str]]
    #: All that people are told of it.
    text: str

    def __getitem__(self, name: str) -> Patch:
        """Return the patch of a name, with or without its ending."""
        return next(one for one in self.patches if name in (one.name, Path(one.name).stem))

    def order(self, *names: str) -> list[str]:
        """Return the names from the best to the worst, those without a place at the end."""
        return sorted(names, key=lambda name: self[name].ranks or (len(self.patches) + 1,) * 2)


@dataclass(frozen=True, slots=True, kw_only=True)
class Repair:
    """One run of a strategy that writes fixes."""

    strategy: str
    #: How its dialogue ended, as in "finish"; "" where there was none.
    ending: str
    #: Names of the patches that it wrote, and of those that pass and break nothing.
    fixes: tuple[str, ...]
    plausible: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """All that one run found out."""

    exit_code: int
    sandbox: str
    answers: tuple[Answer, ...]
    tests: tuple[Test, ...]
    rankings: tuple[Ranking, ...]
    repairs: tuple[Repair, ...]
    #: Questions to a model.
    questions: int

    @property
    def answer(self) -> Answer:
        """The answer about the only report."""
        (answer,) = self.answers
        return answer

    @property
    def ranking(self) -> Ranking:
        """The only ranking."""
        (ranking,) = self.rankings
        return ranking

    @property
    def bug_tests(self) -> tuple[Test, ...]:
        """Tests that fail on the unpatched tree for what may be the reported reason."""
        return tuple(test for test in self.tests if test.fails)

    @property
    def first(self) -> Test:
        """The best test."""
        return self.bug_tests[0]


def read_report(text: str) -> Report:
    """Return the report that is the text of a JSON file."""
    found = json.loads(text)
    names = {test["id"]: test["name"] for test in found["tests"]}
    attempts = [attempt for issue in found["issues"] for attempt in issue["attempts"]]
    return Report(
        exit_code=found["exit_code"],
        sandbox=found["setting"]["sandbox"],
        answers=tuple(map(_answer, found["issues"])),
        tests=tuple(map(_test, found["tests"])),
        rankings=tuple(_ranking(one, names) for one in found["rankings"]),
        repairs=tuple(map(_repair, found["repairs"])),
        questions=sum(one["cost"]["calls"] for one in (*attempts, *found["repairs"])),
    )


def read_checks(text: str) -> dict[str, tuple[bool, dict[str, bool | None]]]:
    """Return what `check --json` says: of each test whether it is one, and each finding."""
    found = {}
    for one in json.loads(text):
        findings = {finding["question"]: finding["answer"] for finding in one["findings"]}
        found[one["test"].rpartition("::")[2]] = (all(findings.values()), findings)
    return found


def _test(found: Mapping[str, Any]) -> Test:
    return Test(
        id=found["id"],
        name=found["name"],
        issue=found["issue"],
        path=found["file"],
        host=found["host"],
        source=found["source"] or "",
        author=found["author"],
        brought_by=tuple(found["brought_by"]),
        result=found["verdict"],
        fails=found["candidate"],
        counts=found["counts"],
        confidence=found["confidence"],
        evidence=found["evidence"] or "",
        measured=(found["measured"] or {"of": 0})["of"],
        review=found["review"],
    )


def _answer(found: Mapping[str, Any]) -> Answer:
    answer = found["answer"] or {"status": "", "text": "", "reason": None, "fix": None}
    told = [answer["reason"], *found["notes"]]
    return Answer(
        issue=found["id"],
        source=found["source"],
        status=answer["status"],
        reasons=tuple(dict.fromkeys(one["code"] for one in told if one)),
        fixed_by=(answer["fix"] or {"commit": ""})["commit"],
        places=tuple(
            f"{one['path']}::{one['function']}".removesuffix("::") for one in found["places"]
        ),
        text="\n".join((answer["text"], *(one["text"] for one in found["notes"]))),
    )


def _ranking(found: Mapping[str, Any], names: Mapping[str, str]) -> Ranking:
    answer = found["answer"]
    return Ranking(
        status=answer["status"],
        leader=answer["best"][0] if answer["status"] in ("best", "unsure", "only") else "",
        reason=(answer["reason"] or {"code": ""})["code"],
        level=answer["reason"]["code"] if answer["status"] == "tie" else "",
        patches=tuple(_patch(one, names, found.get("values", ())) for one in found["patches"]),
        missing=tuple(found["not_run"]),
        variations={
            one["expression"]: {
                name: given["text"] or given["raised"]
                for given in one["gives"]
                for name in given["patches"]
            }
            for one in found["tellings"]
        },
        text="\n".join((answer["text"], *found["notes"])),
    )


def _patch(
    found: Mapping[str, Any], names: Mapping[str, str], values: Sequence[Mapping[str, Any]]
) -> Patch:
    existing = found["existing"] or {"regressions": (), "ran": 0}
    return Patch(
        name=found["name"],
        author=found["source"],
        refused=(found["refused"] or {"code": ""})["code"],
        remarks=tuple(one["code"] for one in found["remarks"]),
        ranks=tuple(found["place"]) if found["place"] else None,
        epr=found["epr"],
        score=found["score"],
        leads_by=found.get("leads_by", ""),
        results={names[one["test"]]: one["verdict"] for one in found["cells"]},
        broken=tuple(one["test"] for one in existing["regressions"]),
        disputed=tuple(one["test"] for one in existing.get("disputed", ())),
        ran=existing["ran"],
        copies=tuple(found["copies"]),
        gives={
            value["expression"]: one["text"] or one["raised"]
            for value in values
            for one in value["gives"]
            if found["name"] in one["patches"]
        },
        diff=found["diff"],
    )


def _repair(found: Mapping[str, Any]) -> Repair:
    fixes = found["fixes"]
    return Repair(
        strategy=found["strategy"],
        ending=found["ending"] or "",
        fixes=tuple(one["patch"] for one in fixes),
        plausible=tuple(one["patch"] for one in fixes if one["plausible"]),
    )
