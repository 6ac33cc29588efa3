"""The options: what each is, how it is spelt, and what the help and the reference page say of it.

What pytest declares of them at every start is plain data made from here (`declared`).
"""
# ruff: noqa: RUF009 - each call makes the field of an option

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from functools import partial
from pathlib import Path

from pytest_brt.plugin import option_values as read
from pytest_brt.plugin.option_values import Spec, Write, option

#: What each group of the help is about.
GROUPS = {
    "issue": "tests from bug reports",
    "rank": "ranking patches",
    "model": "models (optional)",
    "sandbox": "isolation and limits",
    "report": "what a run leaves",
    "repair": "writing patches with a model",
    "study": "studies of many bugs",
}
_ISSUE, _RANK, _MODEL, _SANDBOX, _REPORT, _REPAIR, _STUDY = (partial(option, g) for g in GROUPS)

#: The groups that are commands of their own, and the option that each stands for.
COMMANDS = {"repair": "--brt-repair", "study": "--brt-evaluate"}

#: What shuts a project in, what else is started, and where results go is for the user to say: a
#: checkout of somebody else's has settings too. These have no ini twin.
_USERS_ALONE = (
    *("issue", "rank_fixes", "repair", "localise", "gate", "evaluate", "tests", "buggy_file"),
    *("test_file", "model", "edit_model", "engine", "sandbox", "show", "net", "executor"),
    *("predictions", "out", "results", "record", "report"),
)
#: Why a study does not use some.
_OUTSIDE_STUDIES = (
    ("each bug of the data set has its own", ("tests", "buggy_file", "test_file")),
    ("give interpreters and variables in --brt-environments FILE", ("python", "env")),
    ("a study writes nothing into a project", ("write", "write_unsure", "mark")),
    ("a study keeps its patches below --brt-results DIR", ("out",)),
    ("a study keeps all it finds below --brt-results DIR", ("record", "report")),
    ("a study shows EPR and the weighted score side by side", ("ranker",)),
    ("a study shows the best 1 to 5", ("top",)),
    ("a study shows thresholds from 0 to 1", ("threshold",)),
)


@dataclass(frozen=True, kw_only=True)
class Options:
    """The options of one run, checked and typed, in the order in which the help shows them."""

    issue: tuple[str, ...] = _ISSUE(
        "FILE",
        "write failing tests for the bug report FILE; also '-' (stdin), OWNER/REPO#12 or the "
        "address of an issue on GitHub, read with an installed gh; repeatable",
        repeat=True,
    )
    rank_fixes: tuple[str, ...] = _RANK(
        "PATH",
        "rank patches by the bug tests that pass on them: a folder, or any number of files "
        "(*.diff, *.patch, *.mbox); git:NAME takes the branches called NAME, as in 'git:fix-*'",
        flags=("--rank-fixes", "--brt-rank"),
        repeat=True,
    )
    repair: str = _REPAIR(
        "FILE",
        "write patches for the bug report FILE, with a model; with --rank-fixes "
        "they are ranked together with those in DIR",
    )
    localise: str = _ISSUE(
        "FILE",
        "say where the bug of the report FILE may be: by its words and tracebacks, and by "
        "what its failing tests run",
    )
    tests: tuple[str, ...] = _ISSUE(
        "PATH", "test file to rank by, instead of tests made from a report; repeatable", repeat=True
    )
    strategy: tuple[str, ...] = _ISSUE(
        "NAME[,NAME]",
        "how tests are made: auto (default, the best of what is at hand), replay (no model), "
        "libro, invert, agent",
        read.names,
        default=("auto",),
    )
    model: str = _MODEL(
        "SPEC",
        "the model that strategies may ask: gguf:FILE, ollama:NAME, lmstudio:NAME, llama:NAME, "
        "server:localhost:PORT, scripted:FILE, none, or the only GGUF file in the model folder "
        "(auto, default)",
        default="auto",
        variable="PYTEST_BRT_MODEL",
    )
    edit_model: str = _MODEL(
        "SPEC", "another model for writing code, as in a GGUF with an adapter (default: the same)"
    )
    samples: int | None = _ISSUE(
        "N",
        "samples of a prompt, or runs (default: libro 50, agent 20; auto: as many as are useful)",
        read.at_least(1),
    )
    steps: int | None = _MODEL(
        "N",
        "most steps of one dialogue with a model (default: 25; 15 in auto, 40 in repairagent)",
        read.at_least(1),
    )
    budget: float = _ISSUE(
        "TIME",
        "time for asking models in this run, as in 90s or 1h; what was found until then is "
        "kept (default: 15m)",
        read.seconds,
        default=900.0,
    )
    agree: int | None = _MODEL(
        "N",
        "a sampled bug counts when more than N tests fail alike (default: 1 in libro with 10 "
        "samples or more, else 0)",
        read.at_least(0),
    )
    buggy_file: tuple[str, ...] = _ISSUE(
        "PATH[:LINES]",
        "file that the bug is thought to be in, for a model to read, and for a repair the "
        "lines, as in pkg/core.py:10-20 (default: what the report points at); repeatable",
        repeat=True,
    )
    test_file: str = _ISSUE(
        "PATH",
        "existing test file that tests are written for: a model is shown it, and "
        "--brt-write into adds to it (default: the one nearest to the report)",
    )
    repair_strategy: tuple[str, ...] = _REPAIR(
        "NAME[,NAME]",
        "how bugs are repaired: repairagent (default), passerine",
        read.names,
        default=("repairagent",),
    )
    variants: int = _REPAIR(
        "N",
        "variants that repairagent asks for when a fix fails (default: 30)",
        read.at_least(0),
        default=30,
    )
    without: tuple[tuple[str, ...], ...] = _REPAIR(
        "NAME[,NAME]",
        "switch parts of repairagent off, to see what they are worth: search, states, "
        "memory, place; repeatable, and in a study each is tried beside the whole",
        read.some_of("search", "states", "memory", "place"),
        repeat=True,
    )
    out: Path | None = _REPAIR(
        "DIR",
        "where --brt-repair puts its patches (default: brt-patches/NAME of the report)",
        read.path,
    )
    prompts: Path | None = _MODEL(
        "DIR", "folder of prompts that replace ours of the same name", read.path
    )
    seed: int = _ISSUE(
        "N", "seed of everything that is drawn (default: 0)", read.at_least(0), default=0
    )
    context: int = _MODEL(
        "TOKENS",
        "context of the model (default: what fits the model and the memory)",
        read.at_least(256),
        default=0,
    )
    threads: int = _MODEL(
        "N",
        "threads of a model in a GGUF file (default: the physical cores)",
        read.at_least(1),
        default=0,
    )
    thinking: int = _MODEL(
        "TOKENS",
        "tokens that a thinking model may spend on a plan, a judgement or a hypothesis before "
        "it answers; 0 for none (default: 512)",
        read.at_least(0),
        default=512,
    )
    engine: read.Engine = _MODEL(
        "NAME[,patience=SECONDS]",
        "what runs a GGUF file: llama-cpp-python in a worker (inprocess), a private "
        "llama-server, or what is installed and fits (auto, default); and how long a server "
        "that does not answer yet is waited for (default: 1)",
        read.engine,
        default=read.Engine(),
    )
    gpu_layers: int = _MODEL(
        "N",
        "layers of a GGUF file put on the GPU, 0 for none (default: all, or with llama-server "
        "what fits)",
        read.at_least(-1),
        default=-1,
    )
    cpu_experts: int = _MODEL(
        "N",
        "layers whose experts stay in the computer's memory when the rest is on the GPU "
        "(with llama-server; default: 0)",
        read.at_least(0),
        default=0,
    )
    cache_type: str = _MODEL(
        "{f16,q8_0,q4_0}",
        "how the context of a GGUF file is kept: smaller types leave room for more, and want "
        "flash attention, which is slower on a CPU (default: f16)",
        read.one_of("f16", "q8_0", "q4_0"),
        default="f16",
    )
    keep: int = _ISSUE(
        "N", "tests to keep per issue, best first (default: 5)", read.at_least(1), default=5
    )
    write: Write = _ISSUE(
        "{no,diff,new,into}",
        "show the tests as a diff (default), write a new test file, or add the best "
        "one to an existing test file",
        read.one_of(*Write),
        default=Write.DIFF,
    )
    write_unsure: bool = _ISSUE(
        "",
        "with --brt-write new or into: write also tests that may not be about the report's "
        "bug, which are listed as possible",
        read.is_yes,
        default=False,
        switch=True,
    )
    mark: str = _ISSUE(
        "xfail",
        "mark written tests as strictly expected to fail until the bug is fixed",
        read.one_of("xfail"),
    )
    python: str | None = _ISSUE(
        "PATH",
        "interpreter of the project (default: its .venv, else that of the active environment, "
        "else the running one)",
    )
    env: tuple[tuple[str, str], ...] = _ISSUE(
        "NAME=VALUE",
        "environment variable for the project's tests; repeatable",
        read.pair,
        repeat=True,
    )
    timeout: float = _SANDBOX(
        "SECONDS",
        "time limit of one test, as in 90 or 90s; a statement of a report gets a third of it "
        "(default: 60)",
        read.seconds,
        default=60.0,
    )
    memory: int = _SANDBOX(
        "MB", "memory limit of one test (default: 2048)", read.at_least(64), default=2048
    )
    repeat: int = _ISSUE(
        "K", "runs on the unpatched tree that must agree (default: 1)", read.at_least(1), default=2
    )
    sandbox: str = _SANDBOX(
        "NAME",
        "isolation of tests and patches: auto (default), ns, landlock, process, none",
        default="auto",
    )
    show: tuple[str, ...] = _SANDBOX(
        "DIR",
        "one more folder that tests may read, as of libraries outside the system's folders and "
        "the interpreter's; repeatable",
        repeat=True,
    )
    net: str = _SANDBOX(
        "{none,host}",
        "network of the tests: none (default), or the host's",
        read.one_of("none", "host"),
        default="none",
    )
    jobs: int = _ISSUE(
        "N",
        "tests and patches run at once (default: the number of processors)",
        read.at_least(1),
        default=0,
    )
    executor: str = _ISSUE(
        "SPEC",
        "where the bugs of a study run: threads (default), or dask:ADDRESS",
        default="threads",
    )
    ranker: str = _RANK(
        "NAME",
        "rule that orders the patches: weighted (default), or epr, plain Ensemble Pass Rate",
        default="weighted",
    )
    guard: float | None = _RANK(
        "{auto,no,SECONDS}",
        "run existing tests that each patch may break: for 2 seconds a patch (auto, default), "
        "not at all, or for SECONDS in all",
        read.guard_seconds,
    )
    top: int | None = _RANK("K", "select the best K patches", read.at_least(1))
    threshold: float | None = _RANK(
        "T",
        "select the patches whose Ensemble Pass Rate is at least T, from 0 to 1",
        read.at_least(0.0, most=1.0),
    )
    gate: str = _RANK(
        "BASE..HEAD",
        "say whether the change from BASE to HEAD, which is checked out, brings a test that "
        "fails on BASE and passes on HEAD",
    )
    evaluate: str = _STUDY(
        "DATASET",
        "study how well the tool does on the bugs of DATASET, a *.jsonl file in SWE-bench's "
        "format or a folder of bugs",
    )
    stages: tuple[str, ...] = _STUDY(
        "NAME[,NAME]",
        "what a study does with each bug: reproduce (always), rank its patches, "
        "repair it with and without the failing test (default: reproduce,rank)",
        read.some_of("reproduce", "rank", "repair"),
        default=("reproduce", "rank"),
    )
    given: tuple[str, ...] = _STUDY(
        "NAME[,NAME]",
        "what of the true fix a study gives away: the files that it changes (files, as both "
        "papers do), the test file that its tests are in (test-file), and to repairs the lines of "
        "the files (place), or which tests are plausible: no others are given (plausible-tests); "
        "default: nothing",
        read.some_of("files", "place", "test-file", "plausible-tests"),
        default=(),
    )
    repos: Path | None = _STUDY(
        "DIR", "local clones of the repositories of a data set, as in DIR/owner/name", read.path
    )
    environments: Path | None = _STUDY(
        "FILE",
        "which interpreter, import path and environment each repository, version or bug of a "
        "data set is run with (TOML or JSON)",
        read.path,
    )
    predictions: tuple[str, ...] = _STUDY(
        "FILE",
        "patches of other systems for the bugs of a data set, as in "
        "all_preds.jsonl or preds.json; repeatable",
        repeat=True,
    )
    results: Path | None = _STUDY(
        "DIR",
        "where a study keeps what it finds, and finds what it kept (default: "
        "brt-results/NAME of the data set)",
        read.path,
    )
    record: Path | None = _REPORT(
        "DIR",
        "keep the run in DIR: report, tests and patches, which `pytest-brt recheck DIR` runs "
        "again, and with a model its prompts, replies and dialogues, which `pytest-brt report "
        "DIR` shows",
        read.path,
    )
    report: tuple[str, ...] = _REPORT(
        "FILE",
        "write everything found into FILE, as its name ends: .html (a page), .md (Markdown), "
        ".json; '-' writes JSON to standard output, and all else to standard error; repeatable",
        read.report,
        repeat=True,
    )

    #: What is to be said before anything runs, as in why none of the models was taken.
    notes: tuple[str, ...] = ()

    @property
    def issues(self) -> tuple[str, ...]:
        """The reports, those that are to be repaired or localised too."""
        return tuple(dict.fromkeys(filter(None, (*self.issue, self.repair, self.localise))))

    @property
    def branches(self) -> str:
        """Pattern of the branches that are the patches, or ""."""
        named = (text for text in self.rank_fixes if text.startswith("git:"))
        return next(named, "").removeprefix("git:")

    @property
    def patches(self) -> tuple[Path, ...]:
        """Folders of patches, or files of them."""
        return () if self.branches else tuple(map(Path, self.rank_fixes))

    @property
    def reports(self) -> tuple[tuple[str, Path], ...]:
        """Files for what was found, each with its kind: html, md or json."""
        return tuple((Path(text).suffix[1:], Path(text)) for text in self.report if text != "-")


def _spec(name: str, spec: Spec) -> Spec:
    reasons = (reason for reason, some in _OUTSIDE_STUDIES if name in some)
    return replace(
        spec,
        name=name,
        flags=spec.flags or (f"--brt-{name.replace('_', '-')}",),
        ini=name not in _USERS_ALONE,
        outside_studies=next(reasons, ""),
    )


#: How each option is spelt, explained and read.
SPECS = tuple(_spec(one.name, one.metadata["spec"]) for one in fields(Options) if one.metadata)
