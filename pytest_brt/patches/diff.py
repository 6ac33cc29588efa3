"""The parts of a diff as they are written: files, hunks, binary data.

Hand-written and machine-written diffs differ from what ``git diff`` prints: prose and
fences around them, wrong counts, lost blanks. This reads what is there, says where it
cannot be read, and leaves applying it to others (`ladder`).
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Hunk:
    """A run of lines with their marks."""

    #: 1-based line of its "@@" in the patch.
    line: int
    old_start: int
    old_count: int
    new_start: int
    new_count: int
    #: Lines with their first letter, without line ends; a blank context line may be "".
    body: tuple[str, ...]

    @property
    def olds(self) -> tuple[str, ...]:
        """The lines it must find, without marks."""
        return tuple(line[1:] for line in self.body if line[:1] not in ("+", "\\"))

    @property
    def news(self) -> tuple[str, ...]:
        """The lines it leaves, without marks."""
        return tuple(line[1:] for line in self.body if line[:1] not in ("-", "\\"))

    @property
    def is_counted(self) -> bool:
        """Whether the counts of its header are those of its body."""
        return (self.old_count, self.new_count) == (len(self.olds), len(self.news))

    @property
    def is_bare(self) -> bool:
        """Whether it has no context."""
        return all(line[:1] in ("+", "-", "\\") for line in self.body)

    @property
    def is_change(self) -> bool:
        """Whether it adds or removes a line."""
        return any(line[:1] in ("+", "-") for line in self.body)


@dataclass(frozen=True, slots=True, kw_only=True)
class FileDiff:
    """What a patch says of one file, names as written."""

    #: 1-based line of its first header line in the patch.
    line: int
    #: None when the file is created.
    old: str | None
    #: None when the file is deleted.
    new: str | None
    #: "rename from"/"rename to" or "copy …" without prefixes, or None.
    moved: tuple[str, str] | None = None
    is_copy: bool = False
    creates: bool = False
    deletes: bool = False
    #: Six digits each; "" when not said.
    old_mode: str = ""
    new_mode: str = ""
    hunks: tuple[Hunk, ...] = ()
    #: The line "index …", needed for binary data; "" without one.
    index: str = ""
    #: The lines of "GIT binary patch", with it; None for text.
    binary: tuple[str, ...] | None = None
    #: It says "Binary files … differ" and no more.
    lacks_data: bool = False
