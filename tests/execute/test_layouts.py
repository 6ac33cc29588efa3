from __future__ import annotations

import subprocess
from contextlib import closing
from pathlib import Path

import pytest

from pytest_brt.execute.engine import Row, TestTarget
from pytest_brt.types import FileChange, Verdict
from tests.support.projects import open_on
from tests.support.subjects import environment, pip_for

pytestmark = [pytest.mark.slow, pytest.mark.long]

PYPROJECT = """\
[build-system]
requires = ["setuptools"]
build-backend = "setuptools.build_meta"
[project]
name = "brtlayout"
version = "1"
[tool.setuptools.packages.find]
where = ["{where}"]
include = ["brtlayout*"]
"""
ASKS = "import brtlayout.core\ndef test_a():\n    assert brtlayout.core.answer() == 42\n"
WRONG = "def answer():\n    return 41\n"
RIGHT = b"def answer():\n    return 42\n"

#: What is not installed comes first, while the environment is empty.
LAYOUTS = [
    ("src", "none"), ("src", "editable"), ("src", "strict"), ("src", "regular"),
    (".", "editable"), (".", "regular"),
]  # fmt: skip
#: Those to be tried without a sandbox too. Each test starts an interpreter of its own there, and a
#: copy of the tree comes first on its path, as with Landlock.
ALONE = [("src", "editable"), (".", "regular")]


@pytest.fixture(scope="module")
def python() -> Path:
    """An environment that installs can be made in: each takes the place of the one before."""
    made = environment("3.11", "pytest==8.4.2", "setuptools==75.8.0", "wheel")
    if list(made.parents[1].glob("lib/*/site-packages/*brtlayout*")):
        uninstall = [*pip_for("3.11", made), "uninstall", "-y", "brtlayout"]
        subprocess.run(uninstall, check=True, capture_output=True)
    return made


@pytest.fixture(
    scope="module",
    params=LAYOUTS,
    ids=lambda layout: f"{layout[0].replace('.', 'flat')}-{layout[1]}",
)
def project(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, python: Path
) -> tuple[Path, str, tuple[str, ...]]:
    """Return a project, the path of its module, and the levels to try."""
    where, how = request.param
    tmp_path = tmp_path_factory.mktemp(f"layout-{how}")
    tmp_path.chmod(0o755)
    root = tmp_path / "project"
    package = root / where / "brtlayout"
    package.mkdir(parents=True)
    (root / "tests").mkdir()
    (root / "tests/test_old.py").write_text("def test_old(): pass\n", encoding="utf-8")
    (root / "pyproject.toml").write_text(PYPROJECT.format(where=where), encoding="utf-8")
    (package / "__init__.py").touch()
    (package / "core.py").write_text(WRONG, encoding="utf-8")
    options = {
        "none": None,
        "editable": ["-e"],
        "strict": ["--config-settings", "editable_mode=strict", "-e"],
        "regular": [],
    }[how]
    if options is not None:
        install = [*pip_for("3.11", python), "install", "--no-build-isolation", "--no-deps"]
        subprocess.run([*install, *options, str(root)], check=True, capture_output=True)
    levels = ("ns", "landlock", "none") if request.param in ALONE else ("ns", "landlock")
    return root, f"{where}/brtlayout/core.py".removeprefix("./"), levels


def test_the_patched_code_is_what_runs(
    project: tuple[Path, str, tuple[str, ...]], python: Path
) -> None:
    root, path, levels = project
    target = TestTarget(id="t", path="tests/test_x.py", source=ASKS, node="test_a")

    for level in levels:
        with closing(open_on(root, python=str(python), sandbox=level)) as engine:
            for value, verdict in ((b"42", Verdict.PASS), (b"40", Verdict.FAIL)):
                change = FileChange(path=path, content=RIGHT.replace(b"42", value))
                (run,) = engine.run(Row(targets=(target,), changes=(change,))).runs
                assert run.verdict is verdict, (level, run)
