"""The project under test: where it is, what runs it, what it is made of."""

from __future__ import annotations

import os
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Subject:
    """The project under test, as far as its interpreter was asked."""

    #: Absolute path.
    root: str
    #: Absolute path of the interpreter that runs it.
    python: str
    python_version: tuple[int, int] = (0, 0)
    #: How the interpreter was found, for the header.
    found: str = ""
    #: Folders put on the import path, relative to the root ("src", "."), in order.
    source_roots: tuple[str, ...] = ()
    #: Top-level import names of the project's own code, tests left out.
    packages: tuple[str, ...] = ()
    #: Folder for new test files, relative to the root ("tests", "pkg/tests", ".").
    test_root: str = "."
    #: Extra environment of the test processes.
    env: tuple[tuple[str, str], ...] = ()
    #: Options of pytest that the project's tests need, as in ("-p", "asyncio").
    pytest_args: tuple[str, ...] = ()
    #: The project's own pytest configuration file, or "" when it has none.
    ini: str = ""
    #: Lines of pytest's ``filterwarnings``, where some make errors of warnings.
    warnings: tuple[str, ...] = ()

    @property
    def users_path(self) -> tuple[str, ...]:
        """The folders outside of the project that the user has modules imported from."""
        return tuple(filter(None, dict(self.env).get("PYTHONPATH", "").split(os.pathsep)))

    def import_path(self, tree: str) -> tuple[str, ...]:
        """Return the folders to import from where the project lies in `tree`."""
        roots = (os.path.normpath(f"{tree}/{root}") for root in self.source_roots)
        return (*roots, *self.users_path)
