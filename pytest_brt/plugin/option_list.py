"""The options as plain data, for pytest, the front end and the reference page alike.

A run without us reads no more than this. What their values are is said in `options`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

# Each row begins with its flag, and stands on lines of its own.
# fmt: off

#: Flag, metavar, how its value is read, its default as text, and what it does.
OPTIONS = (
    ("--brt-issue", "FILE", "texts", None,
     "write failing tests for a bug report: a file, '-' (stdin), or an issue or pull request on "
     "GitHub, as '#12' or OWNER/REPO#12; repeatable"),
    ("--rank-fixes", "PATH", "texts", None,
     "rank patches by bug tests: folders, files (*.diff, *.patch), branches, as in 'git:fix-*', "
     "and pull requests, as in '#12'; repeatable"),
    ("--brt-repair", "FILE", "text", None,
     "write patches for a bug report NAME.md, with a model, into brt-patches/NAME"),
    ("--brt-tests", "PATH", "texts", None,
     "rank by the tests in this file; repeatable"),
    ("--brt-strategy", "NAME", "names", "auto",
     "how tests are made: auto (default), replay (no model), libro, invert, agent; and fixes: auto "
     "(default), repairagent, passerine; or several, separated by commas"),
    ("--brt-model", "SPEC", "text", "auto",
     "the model to ask: gguf:FILE, ollama:NAME, lmstudio:NAME, llama:NAME, vllm:NAME, "
     "server:localhost:PORT#NAME, none, or auto (default: PYTEST_BRT_MODEL, else the only file "
     "there is); with settings, as in gguf:FILE,context=8192"),
    ("--brt-budget", "TIME", "time", "15m",
     "time limit for asking models, as in 90s (default: 15m)"),
    ("--brt-write", "{no,diff,new,into}", "text", "diff",
     "show the tests as a diff (default), write a new test file, or add the best one to an "
     "existing file"),
    ("--brt-python", "PATH", "text", None,
     "the project's interpreter (default: its .venv's, else the active environment's, else this)"),
    ("--brt-env", "NAME=VALUE", "pairs", None,
     "environment variable for the tests; repeatable"),
    ("--brt-timeout", "TIME", "time", "60s",
     "time limit of one test (default: 60s); a third of it for code in a report"),
    ("--brt-sandbox", "NAME", "text", "auto",
     "isolation of tests and patches: auto (default), bubblewrap, landlock, none"),
    ("--brt-net", "{none,host}", "text", "none",
     "network of the tests: none (default), or the host's"),
    ("--brt-jobs", "N", "count", None,
     "parallel jobs (default: CPU count)"),
    ("--brt-guard", "SECONDS", "guard", "auto",
     "time limit for existing tests: SECONDS in all, no for none, or auto (default: 2 s a patch)"),
    ("--brt-report", "FILE", "reports", None,
     "write what was found: *.html, *.md or *.json; repeatable"),
    ("--brt-edit-model", "SPEC", "text", None,
     "another model for writing code (default: the same)"),
    ("--brt-replies", "FILE", "path", None,
     "keep the model's replies in FILE, and take those that it has (default: in pytest's cache)"),
    ("--brt-samples", "N", "count", None,
     "samples of a prompt, or runs (default: libro 50, agent 20; auto: as many as are useful)"),
    ("--brt-steps", "N", "count", None,
     "maximum steps of one dialogue with a model (default: 25; 15 in auto, 40 in repairagent)"),
    ("--brt-buggy-file", "PATH[:LINES]", "texts", None,
     "file in which the bug is thought to be, and for a repair the lines, as in pkg/core.py:10-20 "
     "(default: what the report points at); repeatable"),
    ("--brt-test-file", "PATH", "text", None,
     "existing test file to write tests for (default: the one nearest to the report)"),
    ("--brt-mark", "{xfail}", "text", None,
     "mark written tests as strictly expected to fail until the bug is fixed"),
    ("--brt-memory", "MB", "count", None,
     "memory limit of one test (default: half of the machine's, shared by the jobs)"),
    ("--brt-executor", "dask:ADDRESS", "text", None,
     "run patches on the workers of a Dask cluster, which see the project at the same path"),
    ("--brt-show", "DIR", "texts", None,
     "additional folder that tests may read, as for libraries elsewhere; repeatable"),
)
#: What a project may say in its pytest settings, as in ``brt_timeout = 90s``: how its tests are
#: run. All else is for the user alone.
SETTINGS = ("--brt-python", "--brt-env", "--brt-timeout")
#: The options that choose what a run is for.
MODES = ("--brt-repair", "--brt-issue", "--rank-fixes")
#: What pytest knows the plugin of a run of ours by.
SESSION = "brt-session"


def is_ours(namespace: object) -> bool:
    """Return whether an option says that a run is for us."""
    return any(getattr(namespace, destination(flag), None) for flag in MODES)


def destination(flag: str) -> str:
    """Return the name of an option in a namespace, and of its setting."""
    return flag.removeprefix("--").replace("-", "_")


def declaration(row: Sequence[Any]) -> dict[str, Any]:
    """Return what pytest, and `argparse`, take for an option besides its flag.

    Each gathers all texts that it is given; of those that are not repeatable, the last counts.
    """
    flag, metavar, _, _, text = row
    return {
        "dest": destination(flag),
        "action": "extend",
        # A shell makes several words of ``--rank-fixes patches/*.diff``.
        "nargs": "+" if flag == "--rank-fixes" else 1,
        "metavar": metavar,
        "default": None,
        "help": text,
    }
