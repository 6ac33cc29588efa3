"""Which interpreter, import path and environment each bug of a study is run with."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import msgspec

from pytest_brt.errors import UsageProblem
from pytest_brt.evaluate.dataset import Instance


@dataclass(frozen=True, slots=True, kw_only=True)
class Environment:
    """How the tests of a bug are run."""

    #: Interpreter; "" takes the tree's own .venv, else the running one.
    python: str = ""
    #: Import path, relative to the tree.
    pythonpath: tuple[str, ...] = ()
    env: tuple[tuple[str, str], ...] = ()
    #: Files that the tree lacks, as a build would make them: path and content.
    files: tuple[tuple[str, str], ...] = ()


class Entry(msgspec.Struct, forbid_unknown_fields=True):
    """One table of the file."""

    python: str = ""
    pythonpath: list[str] | None = None
    env: dict[str, str] = {}  # msgspec copies it
    files: dict[str, str] = {}


def read_environments(path: Path) -> Mapping[str, Entry]:
    """Return the tables of a TOML or JSON file, by what they are for.

    A table is called "default", "owner/name", "owner/name@version", as a bug, or as the
    environment that a data set names in its field ``env``. The path of an interpreter is
    relative to the file.

    Raises:
        UsageProblem: it cannot be read, or a table has a key that is not known.
    """
    try:
        data = path.read_bytes()
        is_json = path.suffix == ".json"
        value = msgspec.json.decode(data) if is_json else tomllib.loads(data.decode("utf-8"))
        tables = msgspec.convert(value, type=dict[str, Entry])
    except OSError as error:
        raise UsageProblem(f"--brt-environments: {str(path)!r}: {error.strerror}") from None
    except (ValueError, msgspec.MsgspecError) as error:
        raise UsageProblem(f"--brt-environments: {str(path)!r}: {error}") from None
    for table in tables.values():
        if "/" in table.python:
            # Not resolved further: an environment's interpreter is a link that must stay one.
            table.python = str(path.resolve().parent / table.python)
    return tables


def environment_of(instance: Instance, tables: Mapping[str, Entry]) -> Environment:
    """Return how `instance` is run: what is said of it in particular before what is general.

    In a file's content ``{version}`` is the bug's version.
    """
    names = (
        "default",
        instance.repo,
        f"{instance.repo}@{instance.version}",
        instance.environment,
        instance.id,
    )
    entries = [tables[name] for name in names if name in tables]
    python, pythonpath = "", instance.pythonpath
    env = dict(instance.env)
    files: dict[str, str] = {}
    for entry in entries:
        python = entry.python or python
        pythonpath = pythonpath if entry.pythonpath is None else tuple(entry.pythonpath)
        env |= entry.env
        files |= entry.files
    return Environment(
        python=python,
        pythonpath=pythonpath,
        env=tuple(sorted(env.items())),
        files=tuple(
            (path, text.replace("{version}", instance.version)) for path, text in files.items()
        ),
    )
