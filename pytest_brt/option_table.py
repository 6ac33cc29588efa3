"""The table of all options: what the help and the reference page say of them.

Imported by every pytest start, so it imports nothing heavy.
"""

from __future__ import annotations

from pytest_brt.option_values import (
    Spec,
    Write,
    at_least,
    guard,
    names,
    one_of,
    pair,
    seconds,
    share,
    some_of,
)

#: In the order in which the help shows them.
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
        help="rank the candidate patches in DIR (*.diff, *.patch, *.mbox) by the failing tests "
        "they turn green; git:NAME takes the branches called NAME, as in 'git:fix-*'",
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
        read=names,
        default=("auto",),
        help="how tests are made (default: auto, the best of what is at hand)",
    ),
    Spec(
        flag="--brt-model",
        metavar="SPEC",
        default="auto",
        variable="PYTEST_BRT_MODEL",
        help="the model that strategies may ask: gguf:FILE, server:http://127.0.0.1:PORT, "
        "scripted:FILE, none, or the only GGUF file in the model folder (auto, default)",
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
        read=at_least(1, int),
        help="samples of a prompt, or runs (default: libro 50, agent 20, auto as many as help)",
    ),
    Spec(
        flag="--brt-steps",
        metavar="N",
        read=at_least(1, int),
        help="most steps of one dialogue with a model (default: 25; 15 in auto, 40 in repairagent)",
    ),
    Spec(
        flag="--brt-budget",
        metavar="TIME",
        read=seconds,
        default=900.0,
        help="time for asking models in this run, as in 90s or 1h; what was found until then is "
        "kept (default: 15m)",
    ),
    Spec(
        flag="--brt-agree",
        metavar="N",
        read=at_least(0, int),
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
        read=names,
        default=("repairagent",),
        help="how bugs are repaired: repairagent (default), passerine",
    ),
    Spec(
        flag="--brt-variants",
        metavar="N",
        read=at_least(0, int),
        default=30,
        help="variants that repairagent asks for when a fix fails (default: 30)",
    ),
    Spec(
        flag="--brt-without",
        metavar="NAME[,NAME]",
        read=some_of("search", "states", "memory", "place"),
        default=(),
        repeat=True,
        help="switch parts of repairagent off, to see what they are worth: search, states, "
        "memory, place; repeatable, and in a study each is tried beside the whole",
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
        read=at_least(0, int),
        default=0,
        help="seed of everything that is drawn (default: 0)",
    ),
    Spec(
        flag="--brt-context",
        metavar="TOKENS",
        read=at_least(256, int),
        default=0,
        help="context of the model (default: what fits the model and the memory)",
    ),
    Spec(
        flag="--brt-threads",
        metavar="N",
        read=at_least(1, int),
        default=0,
        help="threads of a model in a GGUF file (default: the physical cores)",
    ),
    Spec(
        flag="--brt-thinking",
        metavar="TOKENS",
        read=at_least(0, int),
        default=512,
        help="tokens that a thinking model may spend on a plan, a judgement or a hypothesis before "
        "it answers; 0 for none (default: 512)",
    ),
    Spec(
        flag="--brt-engine",
        metavar="NAME",
        read=one_of("auto", "inprocess", "llama-server"),
        default="auto",
        help="what runs a GGUF file: llama-cpp-python in a worker (inprocess), a private "
        "llama-server, or what is installed and fits (auto, default)",
    ),
    Spec(
        flag="--brt-gpu-layers",
        metavar="N",
        read=at_least(-1, int),
        default=-1,
        help="layers of a GGUF file put on the GPU, 0 for none (default: all, or with llama-server "
        "what fits)",
    ),
    Spec(
        flag="--brt-cpu-experts",
        metavar="N",
        read=at_least(0, int),
        default=0,
        help="layers whose experts stay in the computer's memory when the rest is on the GPU "
        "(llama-server on PATH only; default: 0)",
    ),
    Spec(
        flag="--brt-cache-type",
        metavar="{f16,q8_0,q4_0}",
        read=one_of("f16", "q8_0", "q4_0"),
        default="f16",
        help="how the context of a GGUF file is kept: smaller types leave room for more, and want "
        "flash attention, which is slower on a CPU (default: f16)",
    ),
    Spec(
        flag="--brt-keep",
        metavar="N",
        read=at_least(1, int),
        default=5,
        help="tests to keep per issue, best first (default: 5)",
    ),
    Spec(
        flag="--brt-write",
        metavar="{no,diff,new,into}",
        read=one_of(*Write),
        default="diff",
        help="show the tests as a diff (default), write a new test file, or add the best "
        "one to an existing test file",
    ),
    Spec(
        flag="--brt-write-unsure",
        switch=True,
        read=one_of("yes", "no"),
        default="no",
        help="with --brt-write new or into: write also tests that may not be about the report's "
        "bug, which are listed as possible",
    ),
    Spec(
        flag="--brt-mark",
        metavar="xfail",
        read=one_of("xfail"),
        default="",
        help="mark written tests as strictly expected to fail until the bug is fixed",
    ),
    Spec(
        flag="--brt-python",
        metavar="PATH",
        help="interpreter of the project (default: its .venv, else that of the active environment, "
        "else the running one)",
    ),
    Spec(
        flag="--brt-env",
        metavar="NAME=VALUE",
        read=pair,
        repeat=True,
        help="environment variable for the project's tests; repeatable",
    ),
    Spec(
        flag="--brt-timeout",
        metavar="SECONDS",
        read=at_least(0.1, float),
        default=60.0,
        help="time limit of one test (default: 60)",
    ),
    Spec(
        flag="--brt-memory",
        metavar="MB",
        read=at_least(64, int),
        default=2048,
        help="memory limit of one test (default: 2048)",
    ),
    Spec(
        flag="--brt-repeat",
        metavar="K",
        read=at_least(1, int),
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
        read=one_of("none", "host"),
        default="none",
        help="network of the tests: none (default), or the host's",
    ),
    Spec(
        flag="--brt-jobs",
        metavar="N",
        read=at_least(1, int),
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
        read=guard,
        default="auto",
        help="run existing tests near each patch too: for as long as the ranking itself takes "
        "(auto, default), not at all, or for SECONDS in all",
    ),
    Spec(
        flag="--brt-vary",
        metavar="{auto,no}",
        read=one_of("auto", "no"),
        default="auto",
        help="run the tests with inputs near the reported ones too, on patches that pass them: "
        "when Hypothesis is installed, for as long as making and running the tests took (auto, "
        "default), or not at all",
    ),
    Spec(
        flag="--brt-top",
        metavar="K",
        read=at_least(1, int),
        help="select the best K patches",
    ),
    Spec(
        flag="--brt-threshold",
        metavar="T",
        read=share,
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
        flag="--brt-stages",
        metavar="NAME[,NAME]",
        read=some_of("reproduce", "rank", "repair"),
        default=("reproduce", "rank"),
        help="what a study does with each bug: reproduce (always), rank its candidate patches, "
        "repair it with and without the failing test (default: reproduce,rank)",
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
