"""The options as pytest declares them: plain data, so that a run without us pays for no more.

What their values are is said in `options`.
"""

# Each row begins with its flag, and stands on lines of its own.
# fmt: off

#: Flag, group, metavar, and what it does.
OPTIONS = (
    ("--brt-issue", "issue", "FILE",
     "write failing tests for a bug report: a file, '-' (stdin), or an issue or pull request on "
     "GitHub, as '#12' or OWNER/REPO#12; repeatable"),
    ("--rank-fixes", "rank", "PATH",
     "rank patches by such tests: folders, files (*.diff, *.patch), branches, as in "
     "'git:fix-*', and pull requests, as in '#12'; repeatable"),
    ("--brt-repair", "repair", "FILE",
     "write patches for a bug report, with a model, into brt-patches/NAME of the report"),
    ("--brt-tests", "issue", "PATH",
     "rank by the tests of this file; repeatable"),
    ("--brt-strategy", "issue", "NAME",
     "how tests are made: auto (default), replay (no model), libro, invert, agent; and fixes: auto "
     "(default), repairagent, passerine; or several, with commas"),
    ("--brt-model", "model", "SPEC",
     "the model to ask: gguf:FILE, ollama:NAME, lmstudio:NAME, llama:NAME, "
     "vllm:NAME, server:localhost:PORT#NAME, none, or auto (default, the only one there is); with "
     "settings, as in gguf:FILE,context=8192"),
    ("--brt-budget", "issue", "TIME",
     "most time for asking models, as in 90s (default: 15m)"),
    ("--brt-write", "issue", "{no,diff,new,into}",
     "show the tests as a diff (default), write a new test file, or add the best one to an "
     "existing file"),
    ("--brt-python", "issue", "PATH",
     "the project's interpreter (default: its .venv's, else the active environment's, else this)"),
    ("--brt-env", "issue", "NAME=VALUE",
     "environment variable for the tests; repeatable"),
    ("--brt-timeout", "sandbox", "TIME",
     "limit of one test (default: 60s); a third for statements"),
    ("--brt-sandbox", "sandbox", "NAME",
     "isolation of tests and patches: auto (default), bubblewrap, landlock, none"),
    ("--brt-net", "sandbox", "{none,host}",
     "network of the tests: none (default), or the host's"),
    ("--brt-jobs", "issue", "N",
     "what runs at once (default: a job for each processor)"),
    ("--brt-guard", "rank", "SECONDS",
     "run existing tests, too, for SECONDS in all; no for none; auto (default) for 2 s a patch"),
    ("--brt-report", "report", "FILE",
     "write what was found: *.html, *.md, *.json, or '-' for JSON on standard output; repeatable"),
)
#: Those that pytest's own help leaves out.
MORE_OPTIONS = (
    ("--brt-edit-model", "model", "SPEC",
     "another model for writing code (default: the same)"),
    ("--brt-replies", "model", "FILE",
     "keep the model's replies in FILE, and take those that it has (default: in pytest's cache)"),
    ("--brt-samples", "issue", "N",
     "samples of a prompt, or runs (default: libro 50, agent 20; auto: as many as are useful)"),
    ("--brt-steps", "model", "N",
     "most steps of one dialogue with a model (default: 25; 15 in auto, 40 in repairagent)"),
    ("--brt-buggy-file", "issue", "PATH[:LINES]",
     "file in which the bug is thought to be, and for a repair the lines, as in "
     "pkg/core.py:10-20 (default: what the report points at); repeatable"),
    ("--brt-test-file", "issue", "PATH",
     "existing test file to write tests for (default: the one nearest to the report)"),
    ("--brt-mark", "issue", "{xfail}",
     "mark written tests as strictly expected to fail until the bug is fixed"),
    ("--brt-memory", "sandbox", "MB",
     "memory limit of one test (default: half of the machine's, shared by the jobs)"),
    ("--brt-executor", "rank", "dask:ADDRESS",
     "run patches on the workers of a Dask cluster, which see the project at the same path"),
    ("--brt-show", "sandbox", "DIR",
     "one more folder that tests may read, as of libraries elsewhere; repeatable"),
)
#: Options whose values are gathered when they are given more than once.
REPEATED = (
    "--brt-issue", "--rank-fixes", "--brt-tests", "--brt-buggy-file", "--brt-env", "--brt-show",
    "--brt-report",
)
#: What a project may say in its pytest settings, as in ``brt_timeout = 90s``: how its tests are
#: run. All else is for the user alone.
SETTINGS = ("--brt-python", "--brt-env", "--brt-timeout")
#: The options that choose what a run is for; where several do, the first.
MODES = ("--brt-repair", "--brt-issue", "--rank-fixes")


def mode_of(namespace: object) -> str:
    """Return the option that says what a run is for, "" where it is not for us."""
    for flag in MODES:
        if getattr(namespace, destination(flag), None):
            return flag
    return ""


def destination(flag: str) -> str:
    """Return the name of an option in pytest's namespace, and of its setting."""
    return flag.removeprefix("--").replace("-", "_")
