"""The table of all options: what the help and the reference page say of them.

Imported by every pytest start, so it imports nothing heavy.
"""

from __future__ import annotations

from pytest_brt.plugin.option_values import (
    ENDINGS,
    Spec,
    Write,
    at_least,
    ending,
    guard,
    names,
    one_of,
    pair,
    path,
    seconds,
    share,
    some_of,
)

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

#: The groups that are commands of their own, and the option that each stands for.
COMMANDS = {"repair": "--brt-repair", "study": "--brt-evaluate"}

#: In the order in which the help shows them.
SPECS = (
    Spec(
        flag="--brt-issue",
        group="issue",
        metavar="FILE",
        repeat=True,
        ini=False,
        help="write failing tests for the bug report FILE; also '-' (stdin), OWNER/REPO#12 or the "
        "address of an issue on GitHub, read with an installed gh; repeatable",
    ),
    Spec(
        flag="--rank-fixes",
        group="rank",
        aliases=("--brt-rank",),
        metavar="PATH",
        repeat=True,
        ini=False,
        help="rank patches by the bug tests that pass on them: a folder, or any number of files "
        "(*.diff, *.patch, *.mbox); git:NAME takes the branches called NAME, as in 'git:fix-*'",
    ),
    Spec(
        flag="--brt-repair",
        group="repair",
        metavar="FILE",
        default="",
        ini=False,
        help="write patches for the bug report FILE, with a model; with --rank-fixes "
        "they are ranked together with those in DIR",
    ),
    Spec(
        flag="--brt-localise",
        group="issue",
        metavar="FILE",
        default="",
        ini=False,
        help="say where the bug of the report FILE may be: by its words and tracebacks, and by "
        "what its failing tests run",
    ),
    Spec(
        flag="--brt-tests",
        group="issue",
        metavar="PATH",
        repeat=True,
        ini=False,
        help="test file to rank by, instead of tests made from a report; repeatable",
        outside_studies="each bug of the data set has its own",
    ),
    Spec(
        flag="--brt-strategy",
        group="issue",
        metavar="NAME[,NAME]",
        read=names,
        default=("auto",),
        help="how tests are made: auto (default, the best of what is at hand), replay (no model), "
        "libro, invert, agent",
    ),
    Spec(
        flag="--brt-model",
        group="model",
        metavar="SPEC",
        default="auto",
        variable="PYTEST_BRT_MODEL",
        help="the model that strategies may ask: gguf:FILE, server:http://127.0.0.1:PORT, "
        "scripted:FILE, none, or the only GGUF file in the model folder (auto, default)",
    ),
    Spec(
        flag="--brt-edit-model",
        group="model",
        metavar="SPEC",
        default="",
        help="another model for writing code, as in a GGUF with an adapter (default: the same)",
    ),
    Spec(
        flag="--brt-samples",
        group="issue",
        metavar="N",
        read=at_least(1, int),
        help="samples of a prompt, or runs (default: libro 50, agent 20, auto as many as help)",
    ),
    Spec(
        flag="--brt-steps",
        group="model",
        metavar="N",
        read=at_least(1, int),
        help="most steps of one dialogue with a model (default: 25; 15 in auto, 40 in repairagent)",
    ),
    Spec(
        flag="--brt-budget",
        group="issue",
        metavar="TIME",
        read=seconds,
        default=900.0,
        help="time for asking models in this run, as in 90s or 1h; what was found until then is "
        "kept (default: 15m)",
    ),
    Spec(
        flag="--brt-agree",
        group="model",
        metavar="N",
        read=at_least(0, int),
        help="a sampled bug counts when more than N tests fail alike (default: 1 in libro with 10 "
        "samples or more, else 0)",
    ),
    Spec(
        flag="--brt-buggy-file",
        group="issue",
        metavar="PATH[:LINES]",
        repeat=True,
        ini=False,
        help="file that the bug is thought to be in, for a model to read, and for a repair the "
        "lines, as in pkg/core.py:10-20 (default: what the report points at); repeatable",
        outside_studies="each bug of the data set has its own",
    ),
    Spec(
        flag="--brt-test-file",
        group="issue",
        metavar="PATH",
        default="",
        ini=False,
        help="existing test file that tests are written for: a model is shown it, and "
        "--brt-write into adds to it (default: the one nearest to the report)",
        outside_studies="each bug of the data set has its own",
    ),
    Spec(
        flag="--brt-repair-strategy",
        group="repair",
        metavar="NAME[,NAME]",
        read=names,
        default=("repairagent",),
        help="how bugs are repaired: repairagent (default), passerine",
    ),
    Spec(
        flag="--brt-variants",
        group="repair",
        metavar="N",
        read=at_least(0, int),
        default=30,
        help="variants that repairagent asks for when a fix fails (default: 30)",
    ),
    Spec(
        flag="--brt-without",
        group="repair",
        metavar="NAME[,NAME]",
        read=some_of("search", "states", "memory", "place"),
        repeat=True,
        help="switch parts of repairagent off, to see what they are worth: search, states, "
        "memory, place; repeatable, and in a study each is tried beside the whole",
    ),
    Spec(
        flag="--brt-out",
        group="repair",
        metavar="DIR",
        read=path,
        ini=False,
        help="where --brt-repair puts its patches (default: brt-patches/NAME of the report)",
        outside_studies="a study keeps its patches below --brt-results DIR",
    ),
    Spec(
        flag="--brt-prompts",
        group="model",
        metavar="DIR",
        read=path,
        help="folder of prompts that replace ours of the same name",
    ),
    Spec(
        flag="--brt-seed",
        group="issue",
        metavar="N",
        read=at_least(0, int),
        default=0,
        help="seed of everything that is drawn (default: 0)",
    ),
    Spec(
        flag="--brt-context",
        group="model",
        metavar="TOKENS",
        read=at_least(256, int),
        default=0,
        help="context of the model (default: what fits the model and the memory)",
    ),
    Spec(
        flag="--brt-threads",
        group="model",
        metavar="N",
        read=at_least(1, int),
        default=0,
        help="threads of a model in a GGUF file (default: the physical cores)",
    ),
    Spec(
        flag="--brt-thinking",
        group="model",
        metavar="TOKENS",
        read=at_least(0, int),
        default=512,
        help="tokens that a thinking model may spend on a plan, a judgement or a hypothesis before "
        "it answers; 0 for none (default: 512)",
    ),
    Spec(
        flag="--brt-engine",
        group="model",
        metavar="NAME",
        read=one_of("auto", "inprocess", "llama-server"),
        default="auto",
        help="what runs a GGUF file: llama-cpp-python in a worker (inprocess), a private "
        "llama-server, or what is installed and fits (auto, default)",
    ),
    Spec(
        flag="--brt-gpu-layers",
        group="model",
        metavar="N",
        read=at_least(-1, int),
        default=-1,
        help="layers of a GGUF file put on the GPU, 0 for none (default: all, or with llama-server "
        "what fits)",
    ),
    Spec(
        flag="--brt-cpu-experts",
        group="model",
        metavar="N",
        read=at_least(0, int),
        default=0,
        help="layers whose experts stay in the computer's memory when the rest is on the GPU "
        "(with llama-server; default: 0)",
    ),
    Spec(
        flag="--brt-cache-type",
        group="model",
        metavar="{f16,q8_0,q4_0}",
        read=one_of("f16", "q8_0", "q4_0"),
        default="f16",
        help="how the context of a GGUF file is kept: smaller types leave room for more, and want "
        "flash attention, which is slower on a CPU (default: f16)",
    ),
    Spec(
        flag="--brt-keep",
        group="issue",
        metavar="N",
        read=at_least(1, int),
        default=5,
        help="tests to keep per issue, best first (default: 5)",
    ),
    Spec(
        flag="--brt-write",
        group="issue",
        metavar="{no,diff,new,into}",
        read=one_of(*Write),
        default="diff",
        help="show the tests as a diff (default), write a new test file, or add the best "
        "one to an existing test file",
        outside_studies="a study writes nothing into a project",
    ),
    Spec(
        flag="--brt-write-unsure",
        group="issue",
        switch=True,
        read=one_of("yes", "no"),
        default="no",
        help="with --brt-write new or into: write also tests that may not be about the report's "
        "bug, which are listed as possible",
        outside_studies="a study writes nothing into a project",
    ),
    Spec(
        flag="--brt-mark",
        group="issue",
        metavar="xfail",
        read=one_of("xfail"),
        default="",
        help="mark written tests as strictly expected to fail until the bug is fixed",
        outside_studies="a study writes nothing into a project",
    ),
    Spec(
        flag="--brt-python",
        group="issue",
        metavar="PATH",
        help="interpreter of the project (default: its .venv, else that of the active environment, "
        "else the running one)",
        outside_studies="give interpreters and variables in --brt-environments FILE",
    ),
    Spec(
        flag="--brt-env",
        group="issue",
        metavar="NAME=VALUE",
        read=pair,
        repeat=True,
        help="environment variable for the project's tests; repeatable",
        outside_studies="give interpreters and variables in --brt-environments FILE",
    ),
    Spec(
        flag="--brt-timeout",
        group="sandbox",
        metavar="SECONDS",
        read=at_least(0.1, float),
        default=60.0,
        help="time limit of one test (default: 60)",
    ),
    Spec(
        flag="--brt-memory",
        group="sandbox",
        metavar="MB",
        read=at_least(64, int),
        default=2048,
        help="memory limit of one test (default: 2048)",
    ),
    Spec(
        flag="--brt-repeat",
        group="issue",
        metavar="K",
        read=at_least(1, int),
        default=2,
        help="runs on the unpatched tree that must agree (default: 2)",
    ),
    Spec(
        flag="--brt-sandbox",
        group="sandbox",
        metavar="NAME",
        default="auto",
        help="isolation of tests and patches: auto (default), ns, landlock, process, none",
    ),
    Spec(
        flag="--brt-net",
        group="sandbox",
        metavar="{none,host}",
        read=one_of("none", "host"),
        default="none",
        help="network of the tests: none (default), or the host's",
    ),
    Spec(
        flag="--brt-jobs",
        group="issue",
        metavar="N",
        read=at_least(1, int),
        default=0,
        help="tests and patches run at once (default: the number of processors)",
    ),
    Spec(
        flag="--brt-executor",
        group="issue",
        metavar="SPEC",
        default="threads",
        help="where rows run: threads (default), or dask:ADDRESS",
    ),
    Spec(
        flag="--brt-ranker",
        group="rank",
        metavar="NAME",
        default="weighted",
        help="rule that orders the patches: weighted (default), or epr, plain Ensemble Pass Rate",
        outside_studies="a study shows EPR and the weighted score side by side",
    ),
    Spec(
        flag="--brt-guard",
        group="rank",
        metavar="{auto,no,SECONDS}",
        read=guard,
        help="run existing tests that each patch may break: for 2 seconds a patch (auto, default), "
        "not at all, or for SECONDS in all",
    ),
    Spec(
        flag="--brt-top",
        group="rank",
        metavar="K",
        read=at_least(1, int),
        help="select the best K patches",
        outside_studies="a study shows the best 1 to 5",
    ),
    Spec(
        flag="--brt-threshold",
        group="rank",
        metavar="T",
        read=share,
        help="select the patches whose Ensemble Pass Rate is at least T, from 0 to 1",
        outside_studies="a study shows thresholds from 0 to 1",
    ),
    Spec(
        flag="--brt-gate",
        group="rank",
        metavar="BASE..HEAD",
        default="",
        ini=False,
        help="say whether the change from BASE to HEAD, which is checked out, brings a test that "
        "fails on BASE and passes on HEAD",
    ),
    Spec(
        flag="--brt-evaluate",
        group="study",
        metavar="DATASET",
        default="",
        ini=False,
        help="study how well the tool does on the bugs of DATASET, a *.jsonl file in SWE-bench's "
        "format or a folder of bugs",
    ),
    Spec(
        flag="--brt-stages",
        group="study",
        metavar="NAME[,NAME]",
        read=some_of("reproduce", "rank", "repair"),
        default=("reproduce", "rank"),
        help="what a study does with each bug: reproduce (always), rank its patches, "
        "repair it with and without the failing test (default: reproduce,rank)",
        only_in_studies=True,
    ),
    Spec(
        flag="--brt-given",
        group="study",
        metavar="NAME[,NAME]",
        read=some_of("files", "place", "test-file"),
        default=(),
        help="what of the true fix a study gives away: the files that it changes (files, as both "
        "papers do), the test file that its tests are in (test-file), and to repairs the lines of "
        "the files (place); default: nothing",
        only_in_studies=True,
    ),
    Spec(
        flag="--brt-repos",
        group="study",
        metavar="DIR",
        read=path,
        help="local clones of the repositories of a data set, as in DIR/owner/name",
        only_in_studies=True,
    ),
    Spec(
        flag="--brt-environments",
        group="study",
        metavar="FILE",
        read=path,
        help="which interpreter, import path and environment each repository, version or bug of a "
        "data set is run with (TOML or JSON)",
        only_in_studies=True,
    ),
    Spec(
        flag="--brt-predictions",
        group="study",
        metavar="FILE",
        repeat=True,
        ini=False,
        help="patches of other systems for the bugs of a data set, as in "
        "all_preds.jsonl or preds.json; repeatable",
        only_in_studies=True,
    ),
    Spec(
        flag="--brt-results",
        group="study",
        metavar="DIR",
        read=path,
        ini=False,
        help="where a study keeps what it finds, and finds what it kept (default: "
        "brt-results/NAME of the data set)",
        only_in_studies=True,
    ),
    Spec(
        flag="--brt-record",
        group="report",
        metavar="DIR",
        read=path,
        ini=False,
        help="keep the run in DIR: the evidence, which `pytest-brt recheck DIR` runs again, and "
        "with a model its prompts, replies and dialogues, which `pytest-brt report DIR` shows",
        outside_studies="a study keeps all it finds below --brt-results DIR",
    ),
    Spec(
        flag="--brt-key",
        group="report",
        metavar="FILE",
        read=path,
        help="sign the evidence with the key in FILE (HMAC-SHA256)",
        outside_studies="a study records no evidence to sign",
    ),
    Spec(
        flag="--brt-report",
        group="report",
        metavar="FILE",
        repeat=True,
        ini=False,
        read=ending(*ENDINGS),
        help="write everything found into FILE, as its name ends: .html (a page), .md (Markdown), "
        ".json, .sarif (SARIF 2.1.0, failures at their place in the project); repeatable",
        outside_studies="a study keeps all it finds below --brt-results DIR",
    ),
    Spec(
        flag="--brt-json",
        group="report",
        hidden=True,
        metavar="FILE",
        ini=False,
        help="write everything found as JSON",
        outside_studies="a study keeps all it finds below --brt-results DIR",
    ),
    Spec(
        flag="--brt-html",
        group="report",
        hidden=True,
        metavar="FILE",
        ini=False,
        help="write everything found as one HTML page",
        outside_studies="a study keeps all it finds below --brt-results DIR",
    ),
    Spec(
        flag="--brt-sarif",
        group="report",
        hidden=True,
        metavar="FILE",
        ini=False,
        help="write the tests' failures, at their place in the project, as SARIF 2.1.0",
        outside_studies="a study keeps all it finds below --brt-results DIR",
    ),
)
