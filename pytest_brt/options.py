"""What the user can ask for: one table of options, read into one frozen value.

Every project-wide option has an ini twin of the same name with underscores
(``--brt-timeout`` and ``brt_timeout``). The command line beats the environment, the
environment beats the ini file, the ini file beats the default.

Imported by every pytest start, so it imports nothing heavy.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Literal, TypeVar

import pytest

N = TypeVar("N", int, float)


class Mode(StrEnum):
    """What this pytest run is for."""

    NONE = "none"
    REPRODUCE = "reproduce"
    RANK = "rank"
    REPAIR = "repair"
    LOCALISE = "localise"
    GATE = "gate"
    EVALUATE = "evaluate"


class Write(StrEnum):
    """What becomes of the tests that were found."""

    NO = "no"
    #: Shown as a diff, nothing written.
    DIFF = "diff"
    #: Written as a new test file.
    NEW = "new"
    #: The best one added to the test file where it belongs.
    INTO = "into"


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
    #: Parts of the repair agent that are switched off.
    without: tuple[str, ...]
    #: Folder for the patches that are found; None for brt-patches/NAME of the report.
    out: Path | None
    patches: Path | None
    tests: tuple[str, ...]
    strategies: tuple[str, ...]
    model: str
    #: Tokens of context; 0 takes what fits the model and the memory.
    context: int
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
    #: Folder of prompts that replace ours.
    prompts: Path | None
    seed: int
    #: Stop after this many accepted tests per issue.
    keep: int
    write: Write
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
    #: Whether candidates are run with inputs near the reported ones too.
    vary: bool
    #: Patches to select: the best so many, or those whose EPR is at least so much.
    top: int | None
    threshold: float | None
    #: BASE..HEAD, or "".
    gate: str
    #: Data set of a study, or "".
    evaluate: str
    #: Folder of clones; which interpreter and paths each bug has; patches of other systems.
    repos: Path | None
    environments: Path | None
    predictions: tuple[str, ...]
    #: Folder for what a study found; None for brt-results/NAME of the data set.
    results: Path | None
    #: Folder for the evidence, and a file with the key that signs it.
    record: Path | None
    key: Path | None
    json: Path | None
    html: Path | None
    sarif: Path | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Spec:
    """One row of the table: how an option is spelt, explained and read."""

    flag: str
    help: str
    #: Text → value; raises ValueError saying what was expected.
    read: Callable[[str], object] = str
    metavar: str | None = None
    default: object = None
    repeat: bool = False
    #: Whether there is an ini twin.
    ini: bool = True
    #: Environment variable that sets it, or "".
    variable: str = ""
    aliases: tuple[str, ...] = ()

    @property
    def dest(self) -> str:
        """The attribute on pytest's namespace, and the ini key."""
        return self.flag.lstrip("-").replace("-", "_")


def _at_least(least: float, kind: type[int | float]) -> Callable[[str], object]:
    def read(text: str) -> object:
        try:
            value = kind(text)
        except ValueError:
            value = None
        if value is None or not value >= least:  # so that nan is refused as well
            raise ValueError(f"expected a number of at least {least:g}")
        return value

    return read


def _one_of(*words: str) -> Callable[[str], object]:
    def read(text: str) -> object:
        if text not in words:
            raise ValueError(f"expected one of {', '.join(words)}")
        return text

    return read


def _guard(text: str) -> object:
    if text in ("auto", "no"):
        return text
    try:
        return _at_least(0, float)(text)
    except ValueError:
        raise ValueError("expected auto, no or a number of seconds") from None


def _seconds(text: str) -> object:
    """Read a time, as in "90", "90s", "15m" or "1.5h".

    >>> _seconds("15m")
    900.0
    """
    unit = {"s": 1, "m": 60, "h": 3600}.get(text[-1:].lower())
    try:
        seconds = float(text[:-1] if unit else text) * (unit or 1)
    except ValueError:
        seconds = 0.0
    if not 0 < seconds < math.inf:
        raise ValueError("expected a time, as in 90s, 15m or 1h")
    return seconds


def _share(text: str) -> object:
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not 0 <= value <= 1:  # so that nan is refused as well
        raise ValueError("expected a number from 0 to 1")
    return value


def _pair(text: str) -> object:
    name, sign, value = text.partition("=")
    if not sign or not name:
        raise ValueError("expected NAME=VALUE")
    return (name, value)


def _names(text: str) -> object:
    names = tuple(name.strip() for name in text.split(",") if name.strip())
    if not names:
        raise ValueError("expected one or more names, separated by commas")
    return names


def _parts(text: str) -> object:
    names = _names(text)
    known = ("search", "states", "memory", "place")
    if not isinstance(names, tuple) or any(name not in known for name in names):
        raise ValueError(f"expected some of {', '.join(known)}")
    return names


SPECS = (
    Spec(
        flag="--brt-issue",
        metavar="FILE",
        repeat=True,
        ini=False,
        help="write failing tests for the bug report FILE ('-' reads stdin); repeatable",
    ),
    Spec(
        flag="--rank-fixes",
        aliases=("--brt-rank",),
        metavar="DIR",
        ini=False,
        help="rank the candidate patches in DIR by the failing tests they turn green",
    ),
    Spec(
        flag="--brt-repair",
        metavar="FILE",
        default="",
        ini=False,
        help="write candidate patches for the bug report FILE, with a model; with --rank-fixes "
        "they are ranked together with those in DIR",
    ),
    Spec(
        flag="--brt-localise",
        metavar="FILE",
        default="",
        ini=False,
        help="say where the bug of the report FILE may be: by its words and tracebacks, and by "
        "what its failing tests run",
    ),
    Spec(
        flag="--brt-tests",
        metavar="PATH",
        repeat=True,
        ini=False,
        help="test file to rank by, instead of tests made from a report; repeatable",
    ),
    Spec(
        flag="--brt-strategy",
        metavar="NAME[,NAME]",
        read=_names,
        default=("auto",),
        help="how tests are made (default: auto, the best of what is at hand)",
    ),
    Spec(
        flag="--brt-model",
        metavar="SPEC",
        default="none",
        variable="PYTEST_BRT_MODEL",
        help="the model that strategies may ask: gguf:FILE, server:http://127.0.0.1:PORT, "
        "scripted:FILE, or none (default)",
    ),
    Spec(
        flag="--brt-edit-model",
        metavar="SPEC",
        default="",
        help="another model for writing code, as in a GGUF with an adapter (default: the same)",
    ),
    Spec(
        flag="--brt-samples",
        metavar="N",
        read=_at_least(1, int),
        help="samples of a prompt, or runs (default: libro 50, agent 20, auto as many as help)",
    ),
    Spec(
        flag="--brt-steps",
        metavar="N",
        read=_at_least(1, int),
        help="most steps of one dialogue with a model (default: agent 25)",
    ),
    Spec(
        flag="--brt-budget",
        metavar="TIME",
        read=_seconds,
        default=900.0,
        help="time for asking models in this run, as in 90s or 1h; what was found until then is "
        "kept (default: 15m)",
    ),
    Spec(
        flag="--brt-agree",
        metavar="N",
        read=_at_least(0, int),
        help="a sampled bug counts when more than N tests fail alike (default: 1 in libro with 10 "
        "samples or more, else 0)",
    ),
    Spec(
        flag="--brt-buggy-file",
        metavar="PATH[:LINES]",
        repeat=True,
        ini=False,
        help="file that the bug is thought to be in, for a model to read, and for a repair the "
        "lines, as in pkg/core.py:10-20 (default: what the report points at); repeatable",
    ),
    Spec(
        flag="--brt-repair-strategy",
        metavar="NAME[,NAME]",
        read=_names,
        default=("repairagent",),
        help="how bugs are repaired: repairagent (default), passerine",
    ),
    Spec(
        flag="--brt-variants",
        metavar="N",
        read=_at_least(0, int),
        default=30,
        help="variants that repairagent asks for when a fix fails (default: 30)",
    ),
    Spec(
        flag="--brt-without",
        metavar="NAME[,NAME]",
        read=_parts,
        default=(),
        help="switch parts of repairagent off, to see what they are worth: search, states, "
        "memory, place",
    ),
    Spec(
        flag="--brt-out",
        metavar="DIR",
        ini=False,
        help="where --brt-repair puts its patches (default: brt-patches/NAME of the report)",
    ),
    Spec(
        flag="--brt-prompts",
        metavar="DIR",
        help="folder of prompts that replace ours of the same name",
    ),
    Spec(
        flag="--brt-seed",
        metavar="N",
        read=_at_least(0, int),
        default=0,
        help="seed of everything that is drawn (default: 0)",
    ),
    Spec(
        flag="--brt-context",
        metavar="TOKENS",
        read=_at_least(256, int),
        default=0,
        help="context of the model (default: what fits the model and the memory)",
    ),
    Spec(
        flag="--brt-keep",
        metavar="N",
        read=_at_least(1, int),
        default=5,
        help="tests to keep per issue, best first (default: 5)",
    ),
    Spec(
        flag="--brt-write",
        metavar="{no,diff,new,into}",
        read=_one_of(*Write),
        default="diff",
        help="show the tests as a diff (default), write a new test file, or add the best "
        "one to an existing test file",
    ),
    Spec(
        flag="--brt-mark",
        metavar="xfail",
        read=_one_of("xfail"),
        default="",
        help="mark written tests as strictly expected to fail until the bug is fixed",
    ),
    Spec(
        flag="--brt-python",
        metavar="PATH",
        help="interpreter of the project (default: its .venv, else the running one)",
    ),
    Spec(
        flag="--brt-env",
        metavar="NAME=VALUE",
        read=_pair,
        repeat=True,
        help="environment variable for the project's tests; repeatable",
    ),
    Spec(
        flag="--brt-timeout",
        metavar="SECONDS",
        read=_at_least(0.1, float),
        default=60.0,
        help="time limit of one test (default: 60)",
    ),
    Spec(
        flag="--brt-memory",
        metavar="MB",
        read=_at_least(64, int),
        default=2048,
        help="memory limit of one test (default: 2048)",
    ),
    Spec(
        flag="--brt-repeat",
        metavar="K",
        read=_at_least(1, int),
        default=2,
        help="runs on the unpatched tree that must agree (default: 2)",
    ),
    Spec(
        flag="--brt-sandbox",
        metavar="NAME",
        default="auto",
        help="isolation of tests and patches: auto (default), ns, landlock, process, none",
    ),
    Spec(
        flag="--brt-net",
        metavar="{none,host}",
        read=_one_of("none", "host"),
        default="none",
        help="network of the tests: none (default), or the host's",
    ),
    Spec(
        flag="--brt-jobs",
        metavar="N",
        read=_at_least(1, int),
        default=0,
        help="tests and patches run at once (default: the number of processors)",
    ),
    Spec(
        flag="--brt-executor",
        metavar="SPEC",
        default="threads",
        help="where rows run: threads (default), or dask:ADDRESS",
    ),
    Spec(
        flag="--brt-ranker",
        metavar="NAME",
        default="weighted",
        help="rule that orders the patches: weighted (default), or epr, plain Ensemble Pass Rate",
    ),
    Spec(
        flag="--brt-guard",
        metavar="{auto,no,SECONDS}",
        read=_guard,
        default="auto",
        help="run existing tests near each patch too: for as long as the ranking itself takes "
        "(auto, default), not at all, or for SECONDS in all",
    ),
    Spec(
        flag="--brt-vary",
        metavar="{auto,no}",
        read=_one_of("auto", "no"),
        default="auto",
        help="run the tests with inputs near the reported ones too, on patches that pass them: "
        "when Hypothesis is installed (auto, default), or not at all",
    ),
    Spec(
        flag="--brt-top",
        metavar="K",
        read=_at_least(1, int),
        help="select the best K patches",
    ),
    Spec(
        flag="--brt-threshold",
        metavar="T",
        read=_share,
        help="select the patches whose Ensemble Pass Rate is at least T, from 0 to 1",
    ),
    Spec(
        flag="--brt-gate",
        metavar="BASE..HEAD",
        default="",
        ini=False,
        help="say whether the change from BASE to HEAD, which is checked out, brings a test that "
        "fails on BASE and passes on HEAD",
    ),
    Spec(
        flag="--brt-evaluate",
        metavar="DATASET",
        default="",
        ini=False,
        help="study how well the tool does on the bugs of DATASET, a *.jsonl file in SWE-bench's "
        "format or a folder of bugs",
    ),
    Spec(
        flag="--brt-repos",
        metavar="DIR",
        help="local clones of the repositories of a data set, as in DIR/owner/name",
    ),
    Spec(
        flag="--brt-environments",
        metavar="FILE",
        help="which interpreter, import path and environment each repository, version or bug of a "
        "data set is run with (TOML or JSON)",
    ),
    Spec(
        flag="--brt-predictions",
        metavar="FILE",
        repeat=True,
        ini=False,
        help="candidate patches of other systems for the bugs of a data set, as in "
        "all_preds.jsonl or preds.json; repeatable",
    ),
    Spec(
        flag="--brt-results",
        metavar="DIR",
        ini=False,
        help="where --brt-evaluate keeps what it finds, and finds what it kept (default: "
        "brt-results/NAME of the data set)",
    ),
    Spec(
        flag="--brt-record",
        metavar="DIR",
        ini=False,
        help="keep the run in DIR: the evidence, which `pytest-brt recheck DIR` runs again, and "
        "with a model its prompts, replies and dialogues, which `pytest-brt report DIR` shows",
    ),
    Spec(
        flag="--brt-key",
        metavar="FILE",
        help="sign the evidence with the key in FILE (HMAC-SHA256)",
    ),
    Spec(
        flag="--brt-json",
        metavar="FILE",
        ini=False,
        help="write everything found as JSON",
    ),
    Spec(
        flag="--brt-html",
        metavar="FILE",
        ini=False,
        help="write everything found as one HTML page",
    ),
    Spec(
        flag="--brt-sarif",
        metavar="FILE",
        ini=False,
        help="write the tests' failures, at their place in the project, as SARIF 2.1.0",
    ),
)


def add_options(parser: pytest.Parser) -> None:
    """Declare every option, its aliases and its ini twin."""
    group = parser.getgroup("brt", "bug reproduction tests (pytest-brt)")
    for spec in SPECS:
        group.addoption(
            spec.flag,
            *spec.aliases,
            dest=spec.dest,
            action="append" if spec.repeat else "store",
            metavar=spec.metavar,
            default=None,
            help=spec.help,
        )
        if spec.ini:
            kind: Literal["linelist", "string"] = "linelist" if spec.repeat else "string"
            parser.addini(spec.dest, spec.help, type=kind, default=None)


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


def read_options(config: pytest.Config, environ: Mapping[str, str] = os.environ) -> Options:
    """Return the options of this run.

    Raises:
        pytest.UsageError: a value is not what its option takes.
    """
    values = {spec.dest: _value(spec, config, environ) for spec in SPECS}
    patches = values["rank_fixes"]
    repair, localise = str(values["brt_repair"]), str(values["brt_localise"])
    issues = (*_texts(values["brt_issue"]), *filter(None, (repair, localise)))
    return Options(
        issues=tuple(dict.fromkeys(issues)),
        repair=repair,
        localise=localise,
        repair_strategies=_texts(values["brt_repair_strategy"]),
        variants=int(str(values["brt_variants"])),
        without=_texts(values["brt_without"]),
        out=_path(values["brt_out"]),
        patches=Path(str(patches)) if patches else None,
        tests=_texts(values["brt_tests"]),
        strategies=_texts(values["brt_strategy"]),
        model=str(values["brt_model"]),
        context=int(str(values["brt_context"])),
        edit_model=str(values["brt_edit_model"]),
        samples=_number(values["brt_samples"], int),
        steps=_number(values["brt_steps"], int),
        budget=float(str(values["brt_budget"])),
        agree=_number(values["brt_agree"], int),
        buggy=_texts(values["brt_buggy_file"]),
        prompts=_path(values["brt_prompts"]),
        seed=int(str(values["brt_seed"])),
        keep=int(str(values["brt_keep"])),
        write=Write(str(values["brt_write"])),
        mark=str(values["brt_mark"]),
        python=str(values["brt_python"]) if values["brt_python"] else None,
        env=tuple(values["brt_env"] or ()),  # type: ignore[arg-type]  # pairs, by _pair
        timeout=float(str(values["brt_timeout"])),
        memory=int(str(values["brt_memory"])),
        repeat=int(str(values["brt_repeat"])),
        sandbox=str(values["brt_sandbox"]),
        net=str(values["brt_net"]),
        jobs=int(str(values["brt_jobs"])) or _jobs_of_xdist(config) or os.cpu_count() or 1,
        executor=str(values["brt_executor"]),
        ranker=str(values["brt_ranker"]),
        guard=_guard_seconds(values["brt_guard"]),
        vary=values["brt_vary"] == "auto",
        top=_number(values["brt_top"], int),
        threshold=_number(values["brt_threshold"], float),
        gate=str(values["brt_gate"]),
        evaluate=str(values["brt_evaluate"]),
        repos=_path(values["brt_repos"]),
        environments=_path(values["brt_environments"]),
        predictions=_texts(values["brt_predictions"]),
        results=_path(values["brt_results"]),
        record=_path(values["brt_record"]),
        key=_path(values["brt_key"]),
        json=_path(values["brt_json"]),
        html=_path(values["brt_html"]),
        sarif=_path(values["brt_sarif"]),
    )


def _path(value: object) -> Path | None:
    return Path(str(value)) if value else None


def _guard_seconds(value: object) -> float | None:
    return None if value == "auto" else 0.0 if value == "no" else float(str(value))


def _number(value: object, kind: type[N]) -> N | None:
    return None if value is None else kind(str(value))


def _texts(value: object) -> tuple[str, ...]:
    return tuple(str(part) for part in value) if isinstance(value, list | tuple) else ()


def _value(spec: Spec, config: pytest.Config, environ: Mapping[str, str]) -> object:
    given = config.getoption(spec.dest)
    source = spec.flag
    if given is None and spec.variable and environ.get(spec.variable):
        given, source = environ[spec.variable], spec.variable
    if given is None and spec.ini:
        given, source = config.getini(spec.dest) or None, f"{config.inipath}: {spec.dest}"
    if given is None:
        return spec.default
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
