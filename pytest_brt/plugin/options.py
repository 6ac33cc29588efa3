"""What the user can ask for: the options' table, read into one frozen value.

Most have an ini twin of the same name with underscores (``--brt-timeout`` and ``brt_timeout``).
The command line beats it, and the environment; what the user alone may say has none.

Imported by every pytest start, so it imports nothing heavy.
"""

from __future__ import annotations

import os
from argparse import SUPPRESS
from collections.abc import Mapping
from dataclasses import dataclass, fields
from enum import StrEnum
from pathlib import Path
from typing import Any, Literal

import pytest

from pytest_brt.plugin.option_table import COMMANDS, GROUPS, SPECS
from pytest_brt.plugin.option_values import TYPED, Spec, Write

#: The options that say what a run is for.
_MODES = (
    *("--brt-repair", "--brt-localise", "--brt-issue", "--rank-fixes", "--brt-gate"),
    "--brt-evaluate",
)


class Mode(StrEnum):
    """What this pytest run is for."""

    NONE = "none"
    REPRODUCE = "reproduce"
    RANK = "rank"
    REPAIR = "repair"
    LOCALISE = "localise"
    GATE = "gate"
    EVALUATE = "evaluate"


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """The options of one run, checked and typed."""

    #: Those that are to be repaired or localised too.
    issues: tuple[str, ...]
    #: The one that is to be repaired, or localised; "" for none.
    repair: str
    localise: str
    repair_strategies: tuple[str, ...]
    #: Variants of a fix that fails.
    variants: int
    #: Parts of the repair agent that are switched off: as often as it was said, the parts.
    without: tuple[tuple[str, ...], ...]
    #: Folder for the patches that are found; None for brt-patches/NAME of the report.
    out: Path | None
    #: A folder of patches, or files of them.
    patches: tuple[Path, ...]
    #: Pattern of the branches that are the patches, or "".
    branches: str
    tests: tuple[str, ...]
    strategies: tuple[str, ...]
    model: str
    #: What is to be said before anything runs, as in why none of the models was taken.
    notes: tuple[str, ...]
    #: Tokens of context; 0 takes what fits the model and the memory.
    context: int
    #: Threads of the model; 0 takes the physical cores.
    threads: int
    #: Tokens that a thinking model may spend on a question that deserves it.
    thinking: int
    #: What runs a GGUF file.
    engine: str
    #: Layers on the GPU (-1: all or what fits), those whose experts are not, and how the
    #: context is kept.
    gpu_layers: int
    cpu_experts: int
    cache_type: str
    #: The model that writes code, or "" when `model` does that too.
    edit_model: str
    #: Samples or runs, steps of a dialogue; None for what suits the strategy.
    samples: int | None
    steps: int | None
    #: Wall-clock seconds for all that is made with a model.
    budget: float
    #: A sampled bug counts when more tests than this fail alike; None for what suits the
    #: strategy and the number of samples.
    agree: int | None
    #: Files that the bug is thought to be in, as the user gave them.
    buggy: tuple[str, ...]
    #: The test file that tests are written for, as the user gave it; "" for the nearest.
    test_file: str
    #: Folder of prompts that replace ours.
    prompts: Path | None
    seed: int
    #: Stop after this many accepted tests per issue.
    keep: int
    write: Write
    #: Write also tests that are only possibly about the report's bug.
    write_unsure: bool
    #: "xfail" marks written tests so; "" leaves them plain.
    mark: str
    python: str | None
    env: tuple[tuple[str, str], ...]
    timeout: float
    memory: int
    repeat: int
    sandbox: str
    net: str
    jobs: int
    executor: str
    ranker: str
    #: Seconds for the existing tests on all patches: 0 for none, None for as long as the
    #: ranking itself takes.
    guard: float | None
    #: Patches to select: the best so many, or those whose EPR is at least so much.
    top: int | None
    threshold: float | None
    #: BASE..HEAD, or "".
    gate: str
    #: Data set of a study, or "".
    evaluate: str
    #: What it does with each bug.
    stages: tuple[str, ...]
    #: What of the true fix it gives away.
    given: tuple[str, ...]
    #: Folder of clones; which interpreter and paths each bug has; patches of other systems.
    repos: Path | None
    environments: Path | None
    predictions: tuple[str, ...]
    #: Folder for what a study found; None for brt-results/NAME of the data set.
    results: Path | None
    #: Folder for the evidence, and a file with the key that signs it.
    record: Path | None
    key: Path | None
    #: Files for what was found, each with its kind: html, md, json or sarif.
    reports: tuple[tuple[str, Path], ...]


def add_options(parser: pytest.Parser) -> None:
    """Declare every option, its aliases and its ini twin."""
    groups = {
        name: parser.getgroup(f"brt-{name}", f"pytest-brt: {title}")
        for name, title in GROUPS.items()
    }
    for spec in SPECS:
        how: dict[str, Any] = {"action": "store_const", "const": "yes"}
        if not spec.switch:
            how = {"action": "append" if spec.repeat else "store", "metavar": spec.metavar}
        text = SUPPRESS if spec.hidden or spec.group in COMMANDS else spec.help
        groups[spec.group].addoption(
            spec.flag, *spec.aliases, dest=spec.dest, default=None, help=text, **how
        )
        if spec.ini:
            kind: Literal["linelist", "string"] = "linelist" if spec.repeat else "string"
            parser.addini(spec.dest, spec.help, type=kind, default=None)


def pytest_settings(config: pytest.Config) -> Any:
    """Return pytest's own mapping of ini values; it was public until 9.0."""
    return config._inicfg if hasattr(config, "_inicfg") else config.inicfg


def mode_of(namespace: object) -> Mode:
    """Say what a run with these parsed options is for."""
    if getattr(namespace, "brt_repair", None):
        return Mode.REPAIR
    if getattr(namespace, "brt_localise", None):
        return Mode.LOCALISE
    if getattr(namespace, "brt_issue", None):
        return Mode.REPRODUCE
    if getattr(namespace, "rank_fixes", None):
        return Mode.RANK
    if getattr(namespace, "brt_gate", None):
        return Mode.GATE
    if getattr(namespace, "brt_evaluate", None):
        return Mode.EVALUATE
    return Mode.NONE


def _check_settings(config: pytest.Config) -> None:
    """Raise where the project's settings say what only the user may."""
    settings = pytest_settings(config)
    for spec in SPECS:
        if not spec.ini and spec.dest in settings:
            raise pytest.UsageError(
                f"{config.inipath}: {spec.dest} is not taken from a project's settings "
                f"(remove it, and give {spec.flag} on the command line)"
            )


def _check_together(config: pytest.Config) -> None:
    """Raise where options are given that this run would not look at."""
    given = [spec for spec in SPECS if config.getoption(spec.dest) is not None]
    flags = {spec.flag for spec in given}
    for alone in ("--brt-evaluate", "--brt-gate"):
        others = [flag for flag in _MODES if flag in flags and flag != alone]
        if alone in flags and others:
            raise pytest.UsageError(
                f"{alone} and {others[0]} exclude each other (run pytest twice)"
            )
    for spec in given:
        if "--brt-evaluate" in flags and spec.outside_studies:
            raise pytest.UsageError(f"{spec.flag}: a study does not use it: {spec.outside_studies}")
        if spec.only_in_studies and "--brt-evaluate" not in flags:
            raise pytest.UsageError(f"{spec.flag}: only a study uses it (pytest-brt study DATASET)")


def read_options(config: pytest.Config, environ: Mapping[str, str] = os.environ) -> Options:
    """Return the options of this run.

    Raises:
        pytest.UsageError: a value is not what its option takes, or nothing would look at it.
    """
    _check_settings(config)
    _check_together(config)
    said: dict[str, Any] = {
        spec.dest.removeprefix("brt_"): _value(spec, config, environ) for spec in SPECS
    }
    patches, branches = _patches(said["rank_fixes"])
    model, passed_over = _model(said["model"])
    issues = (*said["issue"], said["repair"], said["localise"])
    own = {field.name for field in fields(Options)}
    as_said = {name: value for name, value in said.items() if name in own}
    return Options(
        **as_said
        | {
            "issues": tuple(dict.fromkeys(filter(None, issues))),
            "patches": patches,
            "branches": branches,
            "repair_strategies": said["repair_strategy"],
            "strategies": said["strategy"],
            "buggy": said["buggy_file"],
            "model": model,
            "notes": tuple(filter(None, (passed_over, _moved(config, environ)))),
            "write": Write(said["write"]),
            "write_unsure": said["write_unsure"] == "yes",
            "python": said["python"] or None,
            "jobs": said["jobs"] or _jobs_of_xdist(config) or os.cpu_count() or 1,
            "reports": _reports(said),
        }
    )


def _moved(config: pytest.Config, environ: Mapping[str, str]) -> str:
    """Return what to type in place of an option that has become a command, "" for nothing."""
    given = [s for s in SPECS if s.flag in COMMANDS.values() and config.getoption(s.dest)]
    if not given or TYPED in environ:
        return ""
    name = next(name for name, flag in COMMANDS.items() if flag == given[0].flag)
    return (
        f"{given[0].flag} is now the command 'pytest-brt {name} {given[0].metavar}' "
        "(the option still works)"
    )


def _model(spec: str) -> tuple[str, str]:
    if spec != "auto":
        return spec, ""
    from pytest_brt.model.opening import default_model  # only runs of ours come here

    return default_model()


def _patches(given: tuple[str, ...]) -> tuple[tuple[Path, ...], str]:
    """Return the paths of patches, or the pattern of the branches that are the patches."""
    branches = [text.removeprefix("git:") for text in given if text.startswith("git:")]
    if branches and len(given) > 1:
        raise pytest.UsageError("--rank-fixes: give either one git:NAME, or files and folders")
    if branches:
        return (), branches[0]
    return tuple(Path(text) for text in given), ""


def _reports(said: Mapping[str, Any]) -> tuple[tuple[str, Path], ...]:
    named = [(Path(text).suffix[1:], Path(text)) for text in said["report"]]
    kinds = ("json", "html", "sarif")
    return (*named, *((kind, Path(said[kind])) for kind in kinds if said[kind]))


def _value(spec: Spec, config: pytest.Config, environ: Mapping[str, str]) -> object:
    given = config.getoption(spec.dest)
    source = spec.flag
    if given is None and spec.variable and environ.get(spec.variable):
        given, source = environ[spec.variable], spec.variable
    if given is None and spec.ini:
        given, source = config.getini(spec.dest) or None, f"{config.inipath}: {spec.dest}"
    if given is None:
        return () if spec.repeat else spec.default
    try:
        if spec.repeat:
            return tuple(spec.read(text) for text in given)
        return spec.read(str(given))
    except ValueError as error:
        raise pytest.UsageError(f"{source}: {error}, got {given!r}") from None


def _jobs_of_xdist(config: pytest.Config) -> int:
    """Return what ``-n`` asked for; one process drives our work, so it means jobs."""
    asked = getattr(config.option, "brt_numprocesses", None)
    return asked if isinstance(asked, int) else 0
