"""Dataclasses come back from JSON as they went."""

from __future__ import annotations

import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_brt.codec import content_id, from_json, to_json
from pytest_brt.errors import StoreProblem
from pytest_brt.types import (
    Attempt,
    CandidateTest,
    FileChange,
    JudgedTest,
    Judgement,
    Oracle,
    OracleKind,
    Origin,
    Patch,
    TestRun,
    Verdict,
)
from tests.support.outcomes import caused

TEXT = st.text(st.characters(exclude_categories=["Cs"]))


@given(
    name=TEXT,
    source=st.none() | TEXT,
    verdict=st.sampled_from(Verdict),
    kind=st.sampled_from(OracleKind),
    confidence=st.floats(0, 1),
)
def test_decode_encode_is_the_same(
    name: str, source: str | None, verdict: Verdict, kind: OracleKind, confidence: float
) -> None:
    run = TestRun(test="t", node=name, verdict=verdict, cause=caused(verdict), exercised=None)
    attempt = Attempt(
        issue="i",
        strategy="replay",
        index=0,
        tests=(
            JudgedTest(
                test=CandidateTest(
                    id="t",
                    name=name,
                    issue="i",
                    origin=Origin(strategy="replay"),
                    oracle=Oracle(kind=kind, sentence=name),
                    path="tests/test_a.py",
                    source=source,
                ),
                judgement=Judgement(
                    verdict=verdict, candidate=True, reason="", confidence=confidence, runs=(run,)
                ),
            ),
        ),
    )
    assert from_json(to_json(attempt), Attempt) == attempt
    assert from_json(to_json(attempt, indent=2), Attempt) == attempt


@given(st.binary())
def test_bytes_survive(content: bytes) -> None:
    change = FileChange(path="a", content=content)
    assert from_json(to_json(change), FileChange) == change


@given(st.binary())
def test_bytes_that_are_no_text_survive_as_text(content: bytes) -> None:
    text = content.decode("utf-8", "surrogateescape")
    patch = Patch(id="p", name=text, text=text)
    assert from_json(to_json(patch), Patch) == patch
    assert from_json(to_json(patch, indent=2), Patch) == patch


def test_a_wrong_field_is_named() -> None:
    with pytest.raises(StoreProblem, match=r"not a FileChange: .*path"):
        from_json('{"path": 3, "content": null}', FileChange)
    with pytest.raises(StoreProblem, match="not a FileChange"):
        from_json(b"\xff\xfe", FileChange)


@given(st.lists(TEXT, max_size=4), st.lists(TEXT, max_size=4))
def test_ids_tell_contents_apart(one: list[str], other: list[str]) -> None:
    assert (content_id(*one) == content_id(*other)) == (one == other)


#: Many threads read a type that none has read before.
AT_ONCE = """
import sys, threading
from pytest_brt.codec import from_json, to_json
from pytest_brt.types import Cause, TestRun, Verdict

run = TestRun(test="t", node="n", verdict=Verdict.PASS, cause=Cause(code="passed", text=""))
text = to_json(run)
sys.setswitchinterval(1e-6)
gate = threading.Barrier(16)
read = []

def read_it():
    gate.wait()
    read.append(from_json(text, TestRun) == run)

threads = [threading.Thread(target=read_it) for _ in range(16)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
assert read == [True] * 16
"""


def test_threads_may_read_a_type_for_the_first_time_at_once() -> None:
    subprocess.run([sys.executable, "-c", AT_ONCE], check=True)
