"""Keeps the steps of a dialogue as they are taken, so that a killed one loses at most one."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

from pytest_brt.codec import from_json, to_json
from pytest_brt.errors import StoreProblem
from pytest_brt.store import Journal
from pytest_brt.types import Ending, KeptDialogue, Step, Trajectory

#: Folder of trajectories in the folder of a run (`--brt-record`).
FOLDER = "trajectories"


@dataclass(frozen=True, slots=True, kw_only=True)
class _End:
    """Last line of a file; missing while it goes on, and when it was killed."""

    ending: Ending
    reason: str = ""


class Log:
    """Where the steps of one dialogue go: the journal, and the folder of the run.

    Every method raises StoreProblem where the folder cannot be written.
    """

    def __init__(
        self,
        issue: str,
        name: str,
        *,
        title: str = "",
        journal: Journal | None = None,
        folder: Path | None = None,
    ) -> None:
        """Write under `name`, as in "agent-03", which is unique for the issue with this id.

        `journal` keeps steps for the next run when this one is interrupted, `folder` whole
        trajectories, as `--brt-record` asks for.
        """
        self._names = ("step", issue, name)
        self._journal = journal
        self._path = folder / FOLDER / f"{issue}-{name}.jsonl" if folder else None
        #: First line of a file: what the dialogue was about.
        self._start = to_json({"issue": issue, "name": name, "title": title})

    def open(self) -> tuple[Step, ...]:
        """Return the steps that an interrupted run left, and write on after them."""
        steps: list[Step] = []
        while self._journal is not None:
            step = self._journal.get(Step, *self._names, str(len(steps) + 1))
            if step is None or step.number != len(steps) + 1:
                break
            steps.append(step)
        if self._path is not None:
            lines = [self._start, *map(to_json, steps)]
            self._write("".join(f"{line}\n" for line in lines), "w")
        return tuple(steps)

    def add(self, step: Step) -> None:
        """Keep one more step."""
        if self._journal is not None:
            self._journal.put(step, *self._names, str(step.number))
        self._write(to_json(step) + "\n", "a")

    def close(self, trajectory: Trajectory) -> None:
        """Keep how it ended."""
        end = _End(ending=trajectory.ending, reason=trajectory.reason)
        self._write(to_json(end) + "\n", "a")

    def _write(self, text: str, mode: str) -> None:
        if self._path is None:
            return
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            with self._path.open(mode + "b") as file:
                file.write(text.encode("utf-8", "surrogateescape"))
        except OSError as error:
            raise StoreProblem(
                f"cannot record to {str(self._path)!r}: {error.strerror} (--brt-record DIR)"
            ) from error


def read_trajectories(folder: Path) -> tuple[KeptDialogue, ...]:
    """Return the trajectories of a run's folder, by name; none when it has none.

    Raises:
        StoreProblem: a file is damaged elsewhere than in its last line.
    """
    return tuple(_read(path) for path in sorted((folder / FOLDER).glob("*.jsonl")))


def _read(path: Path) -> KeptDialogue:
    try:
        lines = path.read_bytes().splitlines()
    except OSError as error:
        raise StoreProblem(f"cannot read {str(path)!r}: {error.strerror}") from error
    steps: list[Step] = []
    try:
        kept = from_json(lines[0] if lines else b"", KeptDialogue)
    except StoreProblem as error:
        raise StoreProblem(f"no trajectory: {str(path)!r}: {error}") from error
    for number, line in enumerate(lines[1:], start=2):
        try:
            if line.startswith(b'{"ending"'):
                end = from_json(line, _End)
                kept = replace(kept, ending=end.ending, reason=end.reason)
            else:
                steps.append(from_json(line, Step))
        except StoreProblem as error:
            if number == len(lines):
                break  # cut off while it was written
            raise StoreProblem(f"{str(path)!r}, line {number}: {error}") from error
    return replace(kept, steps=tuple(steps))
