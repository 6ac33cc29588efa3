"""The options as plain data, for pytest, the front end and the reference page alike.

A run without us reads no more than this. What their values are is said in `options`. It imports no
pytest: where the project is pytest, the front end must start another one.
"""

from __future__ import annotations

import os
import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path

# Each row begins with its flag, and stands on lines of its own.
# fmt: off

#: Flag, group, metavar, how its value is read, its default as text, and what it does.
OPTIONS = (
    ("--brt-issue", "issue", "FILE", "texts", None,
     "write failing tests for a bug report: a file, '-' (stdin), or an issue or pull request on "
     "GitHub, as '#12' or OWNER/REPO#12; repeatable"),
    ("--rank-fixes", "rank", "PATH", "texts", None,
     "rank patches by such tests: folders, files (*.diff, *.patch), branches, as in 'git:fix-*', "
     "and pull requests, as in '#12'; repeatable"),
    ("--brt-repair", "repair", "FILE", "text", "",
     "write patches for a bug report, with a model, into brt-patches/NAME of the report"),
    ("--brt-tests", "issue", "PATH", "texts", None,
     "rank by the tests of this file; repeatable"),
    ("--brt-strategy", "issue", "NAME", "names", "auto",
     "how tests are made: auto (default), replay (no model), libro, invert, agent; and fixes: auto "
     "(default), repairagent, passerine; or several, with commas"),
    ("--brt-model", "model", "SPEC", "text", "auto",
     "the model to ask: gguf:FILE, ollama:NAME, lmstudio:NAME, llama:NAME, vllm:NAME, "
     "server:localhost:PORT#NAME, none, or auto (default, the only one there is); with settings, "
     "as in gguf:FILE,context=8192"),
    ("--brt-budget", "issue", "TIME", "time", "15m",
     "most time for asking models, as in 90s (default: 15m)"),
    ("--brt-write", "issue", "{no,diff,new,into}", "text", "diff",
     "show the tests as a diff (default), write a new test file, or add the best one to an "
     "existing file"),
    ("--brt-python", "issue", "PATH", "text", None,
     "the project's interpreter (default: its .venv's, else the active environment's, else this)"),
    ("--brt-env", "issue", "NAME=VALUE", "pairs", None,
     "environment variable for the tests; repeatable"),
    ("--brt-timeout", "sandbox", "TIME", "time", "60s",
     "limit of one test (default: 60s); a third for statements"),
    ("--brt-sandbox", "sandbox", "NAME", "text", "auto",
     "isolation of tests and patches: auto (default), bubblewrap, landlock, none"),
    ("--brt-net", "sandbox", "{none,host}", "text", "none",
     "network of the tests: none (default), or the host's"),
    ("--brt-jobs", "issue", "N", "count", None,
     "what runs at once (default: a job for each processor)"),
    ("--brt-guard", "rank", "SECONDS", "guard", "auto",
     "run existing tests, too, for SECONDS in all; no for none; auto (default) for 2 s a patch"),
    ("--brt-report", "report", "FILE", "reports", None,
     "write what was found: *.html, *.md or *.json; repeatable"),
)
#: Those that pytest's own help leaves out.
MORE_OPTIONS = (
    ("--brt-edit-model", "model", "SPEC", "text", "",
     "another model for writing code (default: the same)"),
    ("--brt-replies", "model", "FILE", "path", None,
     "keep the model's replies in FILE, and take those that it has (default: in pytest's cache)"),
    ("--brt-samples", "issue", "N", "count", None,
     "samples of a prompt, or runs (default: libro 50, agent 20; auto: as many as are useful)"),
    ("--brt-steps", "model", "N", "count", None,
     "most steps of one dialogue with a model (default: 25; 15 in auto, 40 in repairagent)"),
    ("--brt-buggy-file", "issue", "PATH[:LINES]", "texts", None,
     "file in which the bug is thought to be, and for a repair the lines, as in pkg/core.py:10-20 "
     "(default: what the report points at); repeatable"),
    ("--brt-test-file", "issue", "PATH", "text", "",
     "existing test file to write tests for (default: the one nearest to the report)"),
    ("--brt-mark", "issue", "{xfail}", "text", None,
     "mark written tests as strictly expected to fail until the bug is fixed"),
    ("--brt-memory", "sandbox", "MB", "megabytes", None,
     "memory limit of one test (default: half of the machine's, shared by the jobs)"),
    ("--brt-executor", "rank", "dask:ADDRESS", "text", "",
     "run patches on the workers of a Dask cluster, which see the project at the same path"),
    ("--brt-show", "sandbox", "DIR", "texts", None,
     "one more folder that tests may read, as of libraries elsewhere; repeatable"),
)
#: How the values are read of options that may be given more than once.
REPEATED = ("texts", "pairs", "reports")
#: What a project may say in its pytest settings, as in ``brt_timeout = 90s``: how its tests are
#: run. All else is for the user alone.
SETTINGS = ("--brt-python", "--brt-env", "--brt-timeout")
#: Environment variables that set an option.
VARIABLES = {"--brt-model": "PYTEST_BRT_MODEL"}
#: The options that choose what a run is for; where several do, the first.
MODES = ("--brt-repair", "--brt-issue", "--rank-fixes")
#: The groups that `pytest-brt COMMAND --help` and the reference page show, with their titles.
GROUPS = {
    "issue": "tests from bug reports",
    "rank": "ranking patches",
    "model": "models (optional)",
    "sandbox": "isolation and limits",
    "report": "what a run leaves",
    "repair": "writing patches with a model",
}


def mode_of(namespace: object) -> str:
    """Return the option that says what a run is for, "" where it is not for us."""
    for flag in MODES:
        if getattr(namespace, destination(flag), None):
            return flag
    return ""


def destination(flag: str) -> str:
    """Return the name of an option in pytest's namespace, and of its setting."""
    return flag.removeprefix("--").replace("-", "_")


#: Set by the front end, which starts pytest with arguments that nobody typed.
TYPED = "PYTEST_BRT_TYPED"
#: The last of the arguments that set a run of ours apart; those of the user follow.
_LAST = "--no-header"


def apart(root: Path) -> list[str]:
    """Return the arguments by which pytest takes nothing from the project at `root`."""
    settings = ["-c", os.devnull, f"--rootdir={root}", "--noconftest"]
    # What pytest says of itself is about these settings; our own lines are shown all the same.
    return ["-p", "pytest_brt.plugin.start", *settings, _LAST]


def command_again(arguments: Sequence[str], environ: Mapping[str, str] = os.environ) -> str:
    """Return what to type to run the same again, where this run was started.

    >>> command_again(["-c", "x", "--no-header", "--brt-issue", "my issue.md"], {})
    "pytest --brt-issue 'my issue.md'"
    """
    # What sets the run apart was not typed.
    typed = arguments[arguments.index(_LAST) + 1 :] if _LAST in arguments else arguments
    return environ.get(TYPED) or f"pytest {shlex.join(typed)}"
