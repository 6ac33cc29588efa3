"""``pytest-brt bundle``: everything for a machine without a network, in one folder.

The one command that needs a package registry. It runs pip, and builds llama-cpp-python with
flags that suit any x86-64 processor of the last ten years: by default its wheel holds
instructions of the machine it was built on, and ends with SIGILL on another.
"""

from __future__ import annotations

import argparse
import importlib.metadata
import json
import os
import platform
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import unquote, urlsplit

from pytest_brt import __version__
from pytest_brt.errors import BrtError, UsageProblem
from pytest_brt.model.catalogue import add_model, catalogue_path, digest_of

#: AVX2 and what came with it (Intel Haswell 2013, AMD Excavator 2015); nothing newer.
_X86 = "-DGGML_NATIVE=OFF -DGGML_AVX2=ON -DGGML_FMA=ON -DGGML_F16C=ON -DGGML_BMI2=ON"
_OTHER = "-DGGML_NATIVE=OFF"
_LLAMA = "llama-cpp-python>=0.3.35,<0.4"
#: What llama-cpp-python needs to run; its own wheel is built apart from them.
_LLAMA_NEEDS = ("numpy", "jinja2", "diskcache", "typing-extensions")
_EXTRAS = ("xdist",)


@dataclass(frozen=True, slots=True, kw_only=True)
class Machine:
    """The machine that the bundle is for."""

    #: As in "3.12".
    python: str
    #: As pip names it, as in "manylinux_2_28_x86_64".
    platform: str

    @property
    def here(self) -> bool:
        """Whether wheels that are built here run there."""
        return self.machine == sysconfig.get_platform().rpartition("-")[2] and (
            ("linux" in self.platform) == (sys.platform == "linux")
        )

    @property
    def machine(self) -> str:
        """The processor, as in "x86_64"."""
        return "x86_64" if self.platform.endswith("x86_64") else self.platform.rpartition("_")[2]

    @property
    def pip(self) -> list[str]:
        """The options by which pip fetches for it."""
        digits = self.python.replace(".", "")
        return [
            "--only-binary", ":all:", "--implementation", "cp", "--python-version", self.python,
            "--abi", f"cp{digits}", "--abi", "abi3", "--abi", "none", "--platform", self.platform,
            *_older_platforms(self.platform),
        ]  # fmt: skip


def set_up(parser: argparse.ArgumentParser) -> None:
    """Say what the command takes."""
    parser.description = (
        "Fills OUT with wheels, the catalogue of models and notes on how to install "
        "them. The one command that needs a package registry."
    )
    here = f"{sys.version_info.major}.{sys.version_info.minor}"
    parser.add_argument("out", metavar="OUT", type=Path, help="a folder that is new or empty")
    parser.add_argument("--python", metavar="X.Y", default=here, help=f"target ({here})")
    parser.add_argument(
        "--platform", metavar="TAG", default=_this_platform(), help=f"target ({_this_platform()})"
    )
    parser.add_argument(
        "--model", metavar="FILE", type=Path, action="append", default=[], help="a GGUF to copy"
    )
    group = parser.add_mutually_exclusive_group()
    group.add_argument(
        "--llama-wheel", metavar="FILE", type=Path, help="take this wheel of llama-cpp-python"
    )
    group.add_argument(
        "--without-llama", action="store_true", help="for servers and no model at all"
    )
    parser.set_defaults(command=_run)


def _run(arguments: argparse.Namespace) -> None:
    target = Machine(python=arguments.python, platform=arguments.platform)
    out: Path = arguments.out
    if out.exists() and any(out.iterdir()):
        raise UsageProblem(f"not empty: {str(out)!r} (name a new folder for the bundle)")
    build = not arguments.without_llama and arguments.llama_wheel is None
    if build and not target.here:
        raise UsageProblem(
            f"llama-cpp-python cannot be built here for {target.platform!r} (run this on such a "
            "machine, or give its wheel: --llama-wheel FILE, or --without-llama)"
        )
    wheels = out / "wheels"
    wheels.mkdir(parents=True, exist_ok=True)
    _say("pytest-brt itself")
    try:
        _pip(["wheel", "--no-deps", "-w", str(wheels), _self()])
    except BrtError as error:
        shutil.rmtree(out)  # it was made above, and holds nothing yet
        raise BrtError(
            f"{error} (of pytest-brt itself: run this where it was installed from a clone that is"
            " still there)"
        ) from error
    needs = _requirements(target, () if arguments.without_llama else _LLAMA_NEEDS)
    _say(f"what it needs, for Python {target.python} on {target.platform}")
    _pip(["download", "-d", str(wheels), *target.pip, *needs])
    if build:
        _say("llama-cpp-python, compiled for any processor of this kind (minutes)")
        flags = _X86 if target.machine == "x86_64" else _OTHER
        # A wheel in pip's cache may have been built for this very processor.
        command = ["wheel", "--no-deps", "--no-cache-dir", "--no-binary", "llama-cpp-python"]
        _pip([*command, "-w", str(wheels), _LLAMA], env={"CMAKE_ARGS": flags})
    elif arguments.llama_wheel is not None:
        _copy(arguments.llama_wheel, wheels)
    _add_models(arguments.model, out)
    _write_notes(out, target, about_llama(arguments), llama=not arguments.without_llama)
    count, size = _sum_up(out)
    print(f"{count} files, {size / 1e6:.0f} MB in {out} (how to go on: {out / 'INSTALL.md'})")


def _say(what: str) -> None:
    print(f"getting {what} …", flush=True)


def _this_platform() -> str:
    tag = sysconfig.get_platform().replace("-", "_").replace(".", "_")
    return tag.replace("linux_", "manylinux_2_28_", 1) if tag.startswith("linux_") else tag


def _older_platforms(tag: str) -> list[str]:
    """Return the older tags whose wheels run on `tag` as well."""
    if not tag.startswith("manylinux_2_"):
        return []
    _, _, rest = tag.partition("manylinux_2_")
    minor, _, machine = rest.partition("_")
    out = []
    for older in (28, 27, 26, 24, 17, 12, 5):
        if older < int(minor):
            out += ["--platform", f"manylinux_2_{older}_{machine}"]
    return [*out, "--platform", f"manylinux2014_{machine}", "--platform", f"linux_{machine}"]


def _self() -> str:
    """Return what pip makes our own wheel from: where it came from (PEP 610), or the registry."""
    told = importlib.metadata.distribution("pytest-brt").read_text("direct_url.json") or "{}"
    source = urlsplit(json.loads(told).get("url", ""))
    folder = Path(unquote(source.path))
    if source.scheme == "file" and folder.exists():
        return str(folder)
    return f"pytest-brt=={__version__}"


def _requirements(target: Machine, more: Sequence[str]) -> list[str]:
    """Return our requirements with the small extras, without llama-cpp-python."""
    marked = importlib.metadata.requires("pytest-brt") or []
    needs = [need for need in marked if _wanted(need)]
    if "linux" not in target.platform:
        needs = [need for need in needs if "sys_platform == 'linux'" not in need.replace('"', "'")]
    return [need.partition(";")[0].strip() for need in needs] + list(more)


def _wanted(need: str) -> bool:
    _, _, marker = need.partition(";")
    return "extra" not in marker or any(f"'{e}'" in marker or f'"{e}"' in marker for e in _EXTRAS)


def _pip(arguments: Sequence[str], env: Mapping[str, str] | None = None) -> None:
    command = [sys.executable, "-m", "pip", "--disable-pip-version-check", *arguments]
    done = subprocess.run(
        command,
        env={**os.environ, **(env or {})},
        capture_output=True,
        text=True,
        check=False,
        encoding="utf-8",
    )
    if done.returncode:
        lines = [line for line in done.stderr.split("\n") if line.strip()]
        errors = [line for line in lines if line.lstrip().upper().startswith("ERROR")]
        last = (errors or lines or ["no reason given"])[-1].strip()
        raise BrtError(f"pip {arguments[0]} failed: {last} (is a package registry in reach?)")


def _copy(file: Path, folder: Path) -> None:
    try:
        shutil.copy(file, folder)
    except OSError as error:
        raise UsageProblem(f"cannot copy {str(file)!r}: {error.strerror}") from error


def _add_models(files: Sequence[Path], out: Path) -> None:
    for file in files:
        _say(f"the model {file.name}")
        add_model(file, out / "models", link=False)


def about_llama(arguments: argparse.Namespace) -> str:
    """Say what the bundle has to run models with, and what was not checked of it."""
    if arguments.without_llama:
        return "llama-cpp-python is not in it: models come from a server on the same machine."
    if arguments.llama_wheel is not None:
        return (
            f"llama-cpp-python is the wheel that was given, {arguments.llama_wheel.name}; whether "
            "it runs on the target was not tried: the third command below says."
        )
    libc = " ".join(platform.libc_ver())
    return (
        f"llama-cpp-python was built on {libc or platform.system()} with portable processor "
        "flags: the target needs the same or a newer C library, and libgomp."
    )


def _write_notes(out: Path, target: Machine, about: str, *, llama: bool) -> None:
    """Write the catalogue, the notes and the digests."""
    shutil.copy(catalogue_path(), out / "catalogue.toml")
    extras = ",".join((*(["llama"] if llama else []), *_EXTRAS))
    (out / "INSTALL.md").write_text(
        f"# pytest-brt {__version__}, for Python {target.python} on {target.platform}\n\n"
        f"{about}\n\n"
        "On the machine without a network, in this folder:\n\n"
        f"    python{target.python} -m venv brt\n"
        "    brt/bin/pip install --no-index --find-links wheels --only-binary :all: "
        f"'pytest-brt[{extras}]'\n"
        "    brt/bin/pytest-brt models doctor\n"
        + ("    brt/bin/pytest-brt models add models/*.gguf\n" if (out / "models").is_dir() else "")
        + "\n`sha256sum -c SHA256SUMS` checks that everything came over whole. `catalogue.toml` "
        "lists models worth having.\n",
        encoding="utf-8",
    )


def _sum_up(out: Path) -> tuple[int, int]:
    """Write SHA256SUMS and return the number of files and their bytes."""
    lines, size = [], 0
    for file in sorted(path for path in out.rglob("*") if path.is_file()):
        lines.append(f"{digest_of(file)}  {file.relative_to(out).as_posix()}\n")
        size += file.stat().st_size
    (out / "SHA256SUMS").write_text("".join(lines), encoding="utf-8")
    return len(lines), size
