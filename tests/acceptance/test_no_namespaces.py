"""Where no namespace may be made, and root is the only user there is."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.support.trees import tree_hash

pytestmark = pytest.mark.slow

CAN_UNSHARE = sys.platform == "linux" and not subprocess.call(
    ["unshare", "-Ur", "true"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
)
#: In a user namespace with one user, forbid to make further ones.
FORBID = 'echo 0 > /proc/sys/user/max_user_namespaces; exec "$@"'


@pytest.mark.skipif(not CAN_UNSHARE, reason="this machine allows no user namespace to try it in")
def test_the_main_job_without_namespaces(project: pytest.Pytester) -> None:
    for name in ("b-literal", "c-wrong", "e-stale"):
        (project.path / f"patches/{name}.diff").unlink()
    before = tree_hash(project.path)
    run = ("unshare", "-Ur", "sh", "-c", FORBID, "sh", sys.executable, "-m", "pytest")
    options = ("--brt-issue=clamp.md", "--rank-fixes=patches", "--brt-guard=no")
    refused = project.run(*run, *options, "--brt-sandbox=bubblewrap")
    assert refused.ret == 4
    refused.stderr.fnmatch_lines(
        ["*--brt-sandbox: tests cannot be isolated here (no bubblewrap: *"]
    )
    result = project.run(*run, *options, "--brt-sandbox=landlock", "-p", "no:randomly")
    assert result.ret == 7, result.stdout.str() + result.stderr.str()
    result.stdout.fnmatch_lines(["brt: *sandbox landlock;*", "*1-2 *a-right.diff*4/4 pass*"])
    assert tree_hash(project.path) == before
