"""What it costs to run tests against patches: CPU seconds, four ways, side by side.

10 patches x 8 tests on three real projects, one of them slow to import:

* cell: a pytest subprocess for each patch and test, in trees made beforehand;
* patch: a pytest subprocess for each patch, with all its tests (nothing between them);
* engine: this project's engine with all the isolation that it can get here, from start to end;
* floor: the lower bound without isolation: one process that has pytest and the libraries
  loaded, a fork of it for each patch, which imports the project once and runs all tests.

All start from trees with the bytecode that a developer's has: of all but the patched file, and
the tests, which are new. Who compiles these first may keep what came of it.

With --scale: the engine's cost per cell from 10 to 1,000 cells, and its memory. With --against
CHECKOUT: the engine alone, beside that of another checkout of this project. Two processes, one of
each, take turns (A B, B A, ...) on the same tree, so that what else the machine does meanwhile
weighs on both alike; shown is the median of the ratios of the turns, with its quartiles. The
projects' releases are fetched with pip, by version and sha256, into the user's cache folder. The
last line is one JSON object.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import resource
import shutil
import subprocess
import sys
import tarfile
import tempfile
import venv
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from statistics import median, quantiles

from pytest_brt.execute.engine import Engine, Limits, Row, TestTarget
from pytest_brt.execute.launch import open_sandbox
from pytest_brt.execute.local import LocalEngine
from pytest_brt.execute.subject import find_subject
from pytest_brt.types import FileChange, Verdict

#: The projects too, as users have them: what is imported is decided by the path all the same.
PACKAGES = (
    "pytest==9.0.0", "mpmath==1.3.0", "sympy==1.12", "click==8.1.7", "humanize==4.9.0",
)  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Project:
    """A release, what is changed in it, and the tests."""

    sdist: str
    sha256: str
    #: Where its source lies in the tree.
    source: str
    slow: bool
    #: Modules that the patches change, one after the other.
    modules: tuple[str, ...]
    #: Bodies of the tests, after `imports`.
    imports: str
    tests: tuple[str, ...]

    @property
    def name(self) -> str:
        """The name on the package index."""
        return self.sdist.rpartition("-")[0]


PROJECTS = (
    Project(
        sdist="sympy-1.12.tar.gz",
        sha256="ebf595c8dac3e0fdc4152c51878b498396ec7f30e7a914d6071e674d49420fb8",
        source=".",
        slow=True,
        modules=(
            "sympy/core/add.py", "sympy/core/expr.py", "sympy/simplify/simplify.py",
            "sympy/solvers/solvers.py", "sympy/matrices/common.py", "sympy/sets/sets.py",
            "sympy/printing/latex.py", "sympy/functions/elementary/trigonometric.py",
            "sympy/polys/polytools.py", "sympy/integrals/integrals.py",
        ),
        imports="from sympy import *\nx, y = symbols('x y')\n",
        tests=(
            "assert ccode(Piecewise((x, x < 1), (x**2, True))).startswith('((x < 1)')",
            "assert solve(x**2 - 4, x) == [-2, 2]",
            "assert Matrix([[1, 2], [3, 4]]).det() == -2",
            "assert latex(x**2 / y) == r'\\frac{x^{2}}{y}'",
            "assert srepr(Symbol('x') + 1) == \"Add(Symbol('x'), Integer(1))\"",
            "from sympy.combinatorics import Permutation\n"
            "    assert Permutation([1, 0]).order() == 2",
            "from sympy.tensor.array import Array\n    assert Array([[1, 2]]).shape == (1, 2)",
            "assert Interval(0, 1).intersect(Interval(1, 2)) == FiniteSet(1)",
        ),
    ),
    Project(
        sdist="click-8.1.7.tar.gz",
        sha256="ca9853ad459e787e2192211578cc907e7594e294c7ccc834310722b41b9ca6de",
        source="src",
        slow=False,
        modules=(
            "src/click/core.py", "src/click/types.py", "src/click/utils.py",
            "src/click/parser.py", "src/click/formatting.py", "src/click/decorators.py",
            "src/click/exceptions.py", "src/click/termui.py", "src/click/testing.py",
            "src/click/globals.py",
        ),
        imports="import click\nfrom click.testing import CliRunner\n",
        tests=tuple(
            "@click.command()\n    @click.option('--n', type=int, default=1)\n"
            f"    def cli(n):\n        click.echo(str(n + {number}))\n"
            f"    result = CliRunner().invoke(cli, ['--n', '2'])\n"
            f"    assert result.output == '{2 + number}\\n'"
            for number in range(8)
        ),
    ),
    Project(
        sdist="humanize-4.9.0.tar.gz",
        sha256="582a265c931c683a7e9b8ed9559089dea7edcf6cc95be39a3cbc2c5d5ac2bcfa",
        source="src",
        slow=False,
        modules=(
            "src/humanize/number.py", "src/humanize/time.py", "src/humanize/filesize.py",
            "src/humanize/i18n.py", "src/humanize/__init__.py",
        ) * 2,
        imports="import datetime\nimport humanize\n",
        tests=(
            "assert humanize.intcomma(12345) == '12,345'",
            "assert humanize.naturalsize(3000) == '3.0 kB'",
            "assert humanize.ordinal(3) == '3rd'",
            "assert humanize.apnumber(5) == 'five'",
            "assert humanize.naturaldelta(datetime.timedelta(days=3)) == '3 days'",
            "assert humanize.fractional(0.5) == '1/2'",
            "assert humanize.metric(1500, 'V') == '1.50 kV'",
            "assert humanize.intword(1000000) == '1.0 million'",
        ),
    ),
)  # fmt: skip

FLOOR = """\
import json, os, sys
import pytest, mpmath
for tree, source, tests in json.loads(sys.argv[1]):
    pid = os.fork()
    if pid == 0:
        os.chdir(tree)
        sys.path[:0] = [os.path.join(tree, source), tree]
        os._exit(int(pytest.main(["-q", "-p", "no:cacheprovider", "-o", "addopts=", *tests])))
    assert os.waitpid(pid, 0)[1] == 0
"""


class Bench:
    """A project's trees, patches and tests, ready to be measured."""

    def __init__(self, project: Project, python: Path, base: Path, size: tuple[int, int]) -> None:
        self.project = project
        self.python = python
        self.base = base
        patches, tests = size
        self.sources = [
            f"{project.imports}\n\ndef test_{number}():\n    {body}\n"
            for number, body in enumerate(project.tests[:tests])
        ]
        self.changes = [
            FileChange(
                path=path, content=(base / path).read_bytes() + b"\n\n_PATCHED = %d\n" % number
            )
            for number, path in enumerate(project.modules[:patches])
        ]
        self.trees: list[Path] = []

    def make_trees(self, folder: Path) -> None:
        """Make one tree for each patch, with its tests, and all bytecode there is to have."""
        for number, change in enumerate(self.changes):
            tree = folder / f"tree-{number}"
            shutil.copytree(self.base, tree, symlinks=True)
            (tree / change.path).write_bytes(change.content or b"")
            (tree / "tests").mkdir(exist_ok=True)
            for index, source in enumerate(self.sources):
                (tree / f"tests/test_brt_{index}.py").write_text(source, encoding="utf-8")
            self.trees.append(tree)
        self.run_patches()

    def forget(self) -> None:
        """Remove the bytecode of what a patch and its tests bring."""
        for tree, change in zip(self.trees, self.changes, strict=True):
            for path in (change.path, *self._tests()):
                folder, name = (tree / path).parent, (tree / path).stem
                for compiled in folder.glob(f"__pycache__/{name}.*"):
                    compiled.unlink()

    def _tests(self) -> list[str]:
        return [f"tests/test_brt_{index}.py" for index in range(len(self.sources))]

    def _pytest(self, index: int, tests: list[str]) -> None:
        tree = self.trees[index]
        env = {
            "PATH": os.defpath,
            "PYTHONPATH": os.pathsep.join([str(tree / self.project.source), str(tree)]),
            "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
        }
        options = ["-q", "-p", "no:cacheprovider", "-o", "addopts="]
        command = [str(self.python), "-m", "pytest", *options, *tests]
        done = subprocess.run(command, cwd=tree, env=env, capture_output=True, check=False)
        assert done.returncode == 0, done.stdout.decode()[-2000:]

    def run_cells(self) -> None:
        """A subprocess for each patch and test."""
        for index in range(len(self.trees)):
            for test in self._tests():
                self._pytest(index, [test])

    def run_patches(self) -> None:
        """A subprocess for each patch."""
        for index in range(len(self.trees)):
            self._pytest(index, self._tests())

    def run_floor(self) -> None:
        """One process, a fork for each patch."""
        work = [(str(tree), self.project.source, self._tests()) for tree in self.trees]
        command = [str(self.python), "-c", FLOOR, json.dumps(work)]
        env = {"PATH": os.defpath, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
        subprocess.run(command, env=env, capture_output=True, check=True)

    def open(self) -> Engine:
        """Start the engine on the project."""
        sandbox = open_sandbox("auto", project=self.base)
        subject = find_subject(self.base, python=str(self.python), env={}, sandbox=sandbox)
        return LocalEngine(subject, sandbox, limits=Limits())

    def rows(self) -> list[Row]:
        """Return a row for each patch."""
        targets = tuple(
            TestTarget(id=str(index), path=f"tests/test_brt_{index}.py", source=source)
            for index, source in enumerate(self.sources)
        )
        return [Row(changes=(change,), targets=targets) for change in self.changes]

    def run_engine(self) -> str:
        """All rows, from starting the engine to closing it; return the level it reached."""
        engine = self.open()
        try:
            for row in self.rows():
                check(engine, row)
        finally:
            engine.close()
        return engine.level


def check(engine: Engine, row: Row) -> None:
    """Run a row, all of whose tests must pass."""
    result = engine.run(row)
    wrong = [run for run in result.runs if run.verdict is not Verdict.PASS]
    assert not wrong, wrong
    assert not result.notes, result.notes


def cpu_seconds() -> float:
    """Return the CPU seconds of this process and of all that it has waited for."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(usage.ru_utime + usage.ru_stime for usage in used)


def spent(action: Callable[[], object]) -> float:
    """Return the CPU seconds of one action."""
    before = cpu_seconds()
    action()
    return cpu_seconds() - before


def measure(bench: Bench, rounds: int) -> dict[str, float | bool]:
    """Return the medians of the four ways, taken in turns."""
    ways: dict[str, Callable[[], object]] = {
        "cell_cpu": bench.run_cells,
        "patch_cpu": bench.run_patches,
        "engine_cpu": bench.run_engine,
        "floor_cpu": bench.run_floor,
    }
    seconds: dict[str, list[float]] = {way: [] for way in ways}
    for _ in range(rounds):
        for way, action in ways.items():
            bench.forget()
            seconds[way].append(spent(action))
    figures = {way: round(median(found), 3) for way, found in seconds.items()}
    return {
        "slow": bench.project.slow,
        **figures,
        "speedup": round(figures["cell_cpu"] / figures["engine_cpu"], 2),
        "over_floor": round(figures["engine_cpu"] / figures["floor_cpu"], 2),
    }


def measure_scale(bench: Bench, sizes: list[int]) -> list[dict[str, float]]:
    """Return cost per cell, and memory, for growing numbers of cells of one engine."""
    found: list[dict[str, float]] = []
    engine = bench.open()
    rows = bench.rows()
    try:
        for size in sizes:
            before = cpu_seconds() + living_cpu()
            for number in range(0, size, len(bench.sources)):
                left = min(len(bench.sources), size - number)
                row = rows[number // len(bench.sources) % len(rows)]
                check(engine, Row(changes=row.changes, targets=row.targets[:left]))
            used = (cpu_seconds() + living_cpu() - before) / size
            cost = {"cells": size, "cpu_per_cell": round(used, 4), "rss_mb": living_memory()}
            found.append(cost)
    finally:
        engine.close()
    return found


class Contender:
    """A process that runs the engine of one checkout whenever it is asked to.

    It is that checkout's own script: how an engine is opened changes.
    """

    def __init__(self, checkout: Path, bench: Bench) -> None:
        script = str(checkout.resolve() / "bench" / "matrix.py")
        self._process = subprocess.Popen(
            [sys.executable, script, "--serve", str(bench.base), "--only", bench.project.name],
            env={**os.environ, "PYTHONPATH": str(checkout.resolve())},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def turn(self) -> float:
        """Return the CPU seconds of one run."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        print(file=self._process.stdin, flush=True)
        return float(self._process.stdout.readline())

    def close(self) -> None:
        """Let it end."""
        self._process.communicate()


def serve(bench: Bench) -> None:
    """Run the engine for each line that comes, and say what it cost."""
    for _ in sys.stdin:
        print(spent(bench.run_engine), flush=True)


def measure_against(bench: Bench, other: Path, rounds: int) -> dict[str, float | list[float]]:
    """Return what this checkout's engine costs, as a ratio to the other's, over many turns."""
    ours, theirs = (Contender(path, bench) for path in (Path(__file__).parents[1], other))
    found: list[tuple[float, float]] = []
    for contender in (ours, theirs):
        contender.turn()  # not counted: imports, and bytecode
    for number in range(rounds):
        if number % 2:
            second = theirs.turn()
            found.append((ours.turn(), second))
        else:
            found.append((ours.turn(), theirs.turn()))
    ours.close()
    theirs.close()
    ratios = [mine / other for mine, other in found]
    return {
        "engine_cpu": round(median(mine for mine, _ in found), 3),
        "other_cpu": round(median(other for _, other in found), 3),
        "ratio": round(median(ratios), 4),
        "quartiles": [round(one, 4) for one in quantiles(ratios)],
        "of_medians": round(median(m for m, _ in found) / median(o for _, o in found), 4),
    }


def living() -> list[int]:
    """Return the processes that stem from this one."""
    parents = {}
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            try:
                text = (folder / "stat").read_text(encoding="utf-8", errors="replace")
            except OSError:
                continue
            parents[int(folder.name)] = int(text.rpartition(")")[2].split()[1])
    found = {os.getpid()}
    while True:
        more = {pid for pid, parent in parents.items() if parent in found} - found
        if not more:
            return sorted(found)
        found |= more


def living_memory() -> float:
    """Return the resident memory, in MiB, of this process and all that stem from it."""
    pages = 0
    for pid in living():
        pages += int(Path(f"/proc/{pid}/statm").read_text(encoding="utf-8").split()[1])
    return round(pages * os.sysconf("SC_PAGE_SIZE") / (1 << 20), 1)


def living_cpu() -> float:
    """Return the CPU seconds of living children and of those that they have waited for."""
    ticks = 0
    for pid in living():
        if pid != os.getpid():
            text = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
            ticks += sum(int(part) for part in text.rpartition(")")[2].split()[11:15])
    return ticks / os.sysconf("SC_CLK_TCK")


def cache_folder() -> Path:
    """Return the folder for what can be fetched again."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "pytest-brt/bench"


def make_environment(cache: Path) -> Path:
    """Return an interpreter with pytest and the projects' libraries, made once."""
    folder = cache / f"env-{sys.version_info[0]}{sys.version_info[1]}"
    python = folder / "bin/python"
    if not (folder / "done").exists():
        venv.create(folder, with_pip=True, clear=True)
        pip = [str(python), "-m", "pip", "-q", "--disable-pip-version-check"]
        subprocess.run([*pip, "install", *PACKAGES], check=True)
        (folder / "done").touch()
    return python


def fetch(project: Project, cache: Path) -> Path:
    """Return the release, fetched once and checked."""
    kept = cache / project.sdist
    if not kept.is_file():
        version = project.sdist.removesuffix(".tar.gz").rpartition("-")[2]
        pip = [sys.executable, "-m", "pip", "-q", "--disable-pip-version-check", "download"]
        what = ["--no-deps", "--no-binary", ":all:", f"{project.name}=={version}"]
        subprocess.run([*pip, *what, "--dest", str(cache)], check=True)
    if hashlib.sha256(kept.read_bytes()).hexdigest() != project.sha256:
        raise SystemExit(f"{kept} is not the release it should be: remove it")
    return kept


def unpack(project: Project, cache: Path, folder: Path) -> Path:
    """Return the root of the project's tree."""
    with tarfile.open(fetch(project, cache)) as archive:
        archive.extractall(folder, filter="data")
    return folder / project.sdist.removesuffix(".tar.gz")


def warm(bench: Bench) -> None:
    """Give the project's own tree the bytecode that a developer's has."""
    path = bench.base / bench.project.source
    command = [str(bench.python), "-m", "compileall", "-q", str(path)]
    subprocess.run(command, capture_output=True, check=False)


def parse_arguments() -> argparse.Namespace:
    """Return the options, as the text at the top has them."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--quick", action="store_true", help="2 patches x 2 tests, one project")
    parser.add_argument("--scale", action="store_true", help="10 to 1,000 cells instead")
    parser.add_argument("--rounds", type=int, default=3, help="turns of each way, 3")
    parser.add_argument("--only", metavar="NAME", help="one project")
    parser.add_argument("--against", metavar="CHECKOUT", type=Path, help="beside another's engine")
    parser.add_argument("--serve", type=Path, help=argparse.SUPPRESS)
    return parser.parse_args()


def figures(bench: Bench, arguments: argparse.Namespace, place: Path) -> object:
    """Return what was asked for, of one project, whose trees may lie at `place`."""
    quick = arguments.quick
    if arguments.scale:
        return measure_scale(bench, [10, 20, 40] if quick else [10, 30, 100, 300, 1000])
    if arguments.against:
        return measure_against(bench, arguments.against, arguments.rounds)
    bench.make_trees(place)
    found = measure(bench, 1 if quick else arguments.rounds)
    shutil.rmtree(place)
    return found


def main() -> None:
    """Print what was measured."""
    arguments = parse_arguments()
    cache = cache_folder()
    cache.mkdir(parents=True, exist_ok=True)
    python = make_environment(cache)
    only = arguments.only or ("humanize" if arguments.quick or arguments.scale else "")
    size = (2, 2) if arguments.quick else (10, 8)
    answer: dict[str, object] = {}
    with tempfile.TemporaryDirectory(prefix="brt-matrix-") as name:
        folder = Path(name)
        folder.chmod(0o755)
        for project in (one for one in PROJECTS if one.name == (only or one.name)):
            if arguments.serve:
                serve(Bench(project, python, arguments.serve, size))
                return
            bench = Bench(project, python, unpack(project, cache, folder), size)
            warm(bench)
            engine = bench.open()
            engine.close()
            answer.setdefault("sandbox", engine.level)
            answer[project.name] = figures(bench, arguments, folder / f"{project.name}-trees")
            print(f"{project.name}: {json.dumps(answer[project.name])}", flush=True)
    print(json.dumps(answer))


if __name__ == "__main__":
    main()
