"""Run pytest-brt on a real bug: from its report to failing tests to a ranking of patches.

An example is a folder next to this file. It holds the report of a bug in a package from the package
index, some patches for it, and the name and hash of the release that has the bug. None of the
package's code is kept here: its source distribution is fetched once, with the pip of this Python.

    python examples/run.py --list
    python examples/run.py tabulate-maxcolwidths
    python examples/run.py tabulate-maxcolwidths --keep /tmp/tree -- -v -n 2
    python examples/run.py humanize-precisedelta --model smollm2

The exit status is pytest's, or 4 when the example cannot be set up.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import shlex
import shutil
import subprocess
import sys
import tarfile
import tempfile
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass, fields
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))  # also where this file is imported
from weights import PIP, FetchError, fetch_model

EXAMPLES = Path(__file__).resolve().parent

#: pytest's exit status when it is asked for something it cannot do.
USAGE = 4
#: What pytest-brt ends with where patches pass and none leads clearly.
TIE = 7

# pip wants the metadata of what it downloads, and would fetch the tools that build the package to
# get it. But the metadata is in the source distribution, so a stand-in under the name of the real
# build backend can answer at once: one second instead of up to forty, and nothing of it is run.
STAND_IN = """\
import pathlib, shutil

def prepare_metadata_for_build_wheel(folder, config_settings=None):
    info = pathlib.Path(folder, "{package}-{version}.dist-info")
    info.mkdir()
    shutil.copy("PKG-INFO", info / "METADATA")
    return info.name
"""


class ExampleError(Exception):
    """An example cannot be set up; the message is one line."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Release:
    """The release that has the bug, as told by `example.toml`.

    Attributes:
        package: Its name on the package index.
        version: Its version.
        sdist: The file name of its source distribution.
        sha256: The hash of that file.
        backend: The module that builds the package.
        about: The bug in one line.
        tests_need: What its own tests import besides pytest, pinned as in a requirements file.
    """

    package: str
    version: str
    sdist: str
    sha256: str
    backend: str
    about: str
    tests_need: Sequence[str] = ()

    @classmethod
    def of(cls, example: Path) -> Release:
        """Read the release of an example's folder."""
        with (example / "example.toml").open("rb") as file:
            table = tomllib.load(file)
        names = [field.name for field in fields(cls)]
        return cls(**{name: table[name] for name in names if name in table})

    def is_whole(self, file: Path) -> bool:
        """Tell whether the file is there and is, byte for byte, the source distribution."""
        return (
            file.is_file() and hashlib.sha256(file.read_bytes()).hexdigest() == self.sha256
        )


def known() -> list[str]:
    """Names of the examples."""
    return sorted(path.parent.name for path in EXAMPLES.glob("*/example.toml"))


def unpack(example: Path, into: Path, cache: Path | None = None) -> Path:
    """Unpack the release that has the bug, and return the root of its tree.

    Args:
        example: The folder of the example.
        into: An existing folder; the tree becomes a folder in it.
        cache: Where source distributions are kept; by default the user's cache folder.

    Raises:
        ExampleError: It cannot be fetched, is not the right file, or is in the way of something.
    """
    release = Release.of(example)
    root = into / release.sdist.removesuffix(".tar.gz")
    if root.exists():
        raise ExampleError(f"{root} is already there")
    if not hasattr(tarfile, "data_filter"):
        raise ExampleError("unpacking safely needs Python 3.11.4 or newer")
    with tarfile.open(_fetch(release, (cache or _user_cache()).resolve())) as archive:
        archive.extractall(into, filter="data")
    return root


def _user_cache() -> Path:
    """The folder for what can be fetched again."""
    usual = os.environ.get("LOCALAPPDATA" if os.name == "nt" else "XDG_CACHE_HOME")
    return Path(usual or Path.home() / ".cache") / "pytest-brt" / "examples"


def _fetch(release: Release, cache: Path) -> Path:
    """Return the source distribution, from the cache if it is there."""
    kept = cache / release.sdist
    if not release.is_whole(kept):
        cache.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=cache) as name:
            fetched = _download(release, Path(name))
            if not release.is_whole(fetched):
                raise ExampleError(
                    f"{release.sdist} does not have the sha256 of example.toml"
                )
            fetched.replace(kept)
    return kept


def _download(release: Release, folder: Path) -> Path:
    """Download the source distribution with pip, which checks its hash, without building it."""
    requirements = folder / "requirements.txt"
    pin = f"{release.package}=={release.version} --hash=sha256:{release.sha256}"
    requirements.write_text(pin + "\n", encoding="utf-8")
    backend = (folder / "stand-in" / release.backend.replace(".", "/")).with_suffix(".py")
    backend.parent.mkdir(parents=True)
    (backend.parent / "__init__.py").touch()
    backend.write_text(
        STAND_IN.format(package=release.package, version=release.version), encoding="utf-8"
    )
    command = [
        *PIP,
        "download",
        "--no-deps",
        "--no-binary",
        ":all:",
        "--no-build-isolation",
    ]
    command += ["--retries", "2", "--require-hashes", "--requirement", str(requirements)]
    pip = subprocess.run(
        [*command, "--dest", str(folder)],
        env={**os.environ, "PYTHONPATH": str(folder / "stand-in")},
        capture_output=True,
        text=True,
        check=False,
        encoding="utf-8",
    )
    if pip.returncode != 0:
        said = pip.stderr.splitlines() or ["it does not say why"]
        reason = next(
            (line for line in said if line.lower().startswith("error:")), said[-1]
        )
        raise ExampleError(f"pip cannot download {release.sdist}: {reason.strip()}")
    return folder / release.sdist


def run(example: Path, tree: Path, extra: Sequence[str] = ()) -> int:
    """Run pytest-brt on an unpacked example, and return pytest's exit status; 0 for a tie too.

    The report and the patches are laid next to the tree, as a user would have them.
    """
    shutil.copy(example / "issue.md", tree.parent)
    shutil.copytree(example / "patches", tree.parent / "patches", dirs_exist_ok=True)
    command = [sys.executable, "-m", "pytest", "--no-header", f"--rootdir={tree}"]
    command += ["--brt-issue=../issue.md", "--rank-fixes=../patches"]
    if not any(word.startswith("--brt-guard") for word in extra):
        command.append("--brt-guard=60")  # the projects have good tests of their own
    packages = _packages(Release.of(example), tree.parent)
    if packages:
        command += ["--brt-env", f"PYTHONPATH={packages}"]
    command += extra
    environment = {**os.environ, "PYTEST_BRT_TYPED": shlex.join(["python", *sys.argv])}
    status = subprocess.run(command, cwd=tree, env=environment, check=False).returncode
    if status == USAGE and not any(word.startswith("--brt-sandbox") for word in extra):
        # Where nothing keeps files in, pytest-brt wants to be told that code may run all the
        # same. The code of the examples was read by those who chose them.
        print("run.py: trying again with --brt-sandbox none", file=sys.stderr)
        command.append("--brt-sandbox=none")
        status = subprocess.run(command, cwd=tree, env=environment, check=False).returncode
    # That two patches are level is what it is to show.
    return 0 if status == TIE else status


def _packages(release: Release, into: Path) -> Path | None:
    """Install what the project's own tests need into a folder, and return that.

    Without them the example works too, but its patches are not tried on existing tests.
    """
    if not release.tests_need:
        return None
    wanted, folder = into / "tests-need.txt", into / "packages"
    wanted.write_text("\n".join(release.tests_need) + "\n", encoding="utf-8")
    command = [*PIP, "install", "--no-deps", "--only-binary", ":all:", "--require-hashes"]
    command += ["--retries", "2", "--target", str(folder), "--requirement", str(wanted)]
    if subprocess.run(command, check=False).returncode != 0:
        print("run.py: going on without what the project's own tests need", file=sys.stderr)
        return None
    return folder


def main(argv: Sequence[str]) -> int:
    """Do what the command line says, and return the exit status."""
    # What follows "--" is pytest's.
    split = argv.index("--") if "--" in argv else len(argv)
    parser = argparse.ArgumentParser(
        prog="run.py",
        usage="%(prog)s NAME [--keep DIR] [--cache DIR] [--model NAME] [-- PYTEST ARGUMENTS]\n"
        "       %(prog)s --list",
        description="Run pytest-brt on a real bug: failing tests from its report, then a ranking "
        "of the patches in its folder.",
    )
    parser.add_argument("name", metavar="NAME", nargs="?", help="the example to run")
    parser.add_argument("--list", action="store_true", help="list the examples and stop")
    parser.add_argument(
        "--keep", metavar="DIR", type=Path, help="unpack into DIR, and leave the tree there"
    )
    parser.add_argument(
        "--cache",
        metavar="DIR",
        type=Path,
        help="keep downloads in DIR, not in the user's cache",
    )
    parser.add_argument(
        "--model", metavar="NAME", help="fetch this small model and use it (see weights.py)"
    )
    arguments = parser.parse_args(argv[:split])
    if arguments.list:
        for name in known():
            print(f"{name:<26}{Release.of(EXAMPLES / name).about}")
        return 0
    try:
        if arguments.name not in known():
            asked = (
                f"no example {arguments.name!r}" if arguments.name else "name an example"
            )
            raise ExampleError(f"{asked}; there are {', '.join(known())}")
        example = EXAMPLES / arguments.name
        with tempfile.TemporaryDirectory(prefix="brt-example-") as name:
            into = (arguments.keep or Path(name)).resolve()
            into.mkdir(parents=True, exist_ok=True)
            extra = [*argv[split + 1 :]]
            if arguments.model:
                model = fetch_model(arguments.model, arguments.cache)
                # Enough to see it work, on a slow machine too; what follows "--" may say otherwise.
                some = ["--brt-strategy=libro", "--brt-samples=6", "--brt-budget=5m"]
                extra = [f"--brt-model=gguf:{model}", *some, *extra]
            return run(example, unpack(example, into, arguments.cache), extra)
    except (ExampleError, FetchError, OSError) as error:
        print(f"run.py: {error}", file=sys.stderr)
        return 4
    except KeyboardInterrupt:
        return 2


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
