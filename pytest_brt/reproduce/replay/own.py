"""The reporter's own tests as candidates: as they stand, with their imports completed."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import PurePosixPath

from pytest_brt.codec import content_id
from pytest_brt.observe.names import Resolver
from pytest_brt.observe.watch import Replayed
from pytest_brt.oracle.write import import_block, is_import
from pytest_brt.pysource.names import undefined_names
from pytest_brt.types import CandidateTest, Oracle, OracleKind, Origin
from pytest_brt.types.reading import OwnTest


def own_candidates(replayed: Replayed, folder: str, called: str) -> Iterator[CandidateTest]:
    """Yield the tests that a report brings, but for those that use names which nothing has.

    Their files are to stand in `folder`; `called` is what tests of the report are called after.
    """
    issue = replayed.reading.issue
    for own in replayed.reading.tests:
        source = _module(own, replayed.resolver)
        if source is None:
            continue
        stem = own.name.rpartition("::")[2].removeprefix("test").strip("_").lower()
        path = (PurePosixPath(folder) / f"test_{called}_{stem}.py").as_posix()
        yield CandidateTest(
            id=content_id(issue.id, path, source, own.name),
            name=own.name,
            issue=issue.id,
            origin=Origin(strategy="replay"),
            oracle=Oracle(kind=OracleKind.WRITTEN, sentence="The report brings this test."),
            path=path,
            source=source,
        )


def _module(own: OwnTest, resolver: Resolver) -> str | None:
    """Return the test as a module of its own, None when a name in it cannot be bound."""
    imports = [line for line in own.needs if is_import(line)]
    rest = [line for line in own.needs if not is_import(line)]
    loose = undefined_names("\n".join([*imports, *rest, own.source]))
    resolver.resolve(loose)
    if resolver.missing(loose):
        return None
    body = "\n\n\n".join([*rest, own.source])
    header = import_block([*imports, *resolver.imports_for(loose)], body, resolver)
    return "\n\n\n".join(part for part in (header, body) if part) + "\n"
