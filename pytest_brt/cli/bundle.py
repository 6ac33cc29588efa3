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
import re
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path
from urllib.parse import unquote, urlsplit

from pytest_brt import __version__
from pytest_brt.errors import BrtError, UsageProblem
from pytest_brt.model.catalogue import add_model, catalogue_path, digest_of

#: AVX2 and what came with it (Intel Haswell 2013, AMD Excavator 2015); nothing newer.
_X86 = "-DGGML_NATIVE=OFF -DGGML_AVX2=ON -DGGML_FMA=ON -DGGML_F16C=ON -DGGML_BMI2=ON"
_OTHER = "-DGGML_NATIVE=OFF"
_LLAMA = "llama-cpp-python>=0.3.35,<0.4"
#: A tag as pip has it: the system, its version, the processor.
_TAG = re.compile(r"(?:many)?(linux|macosx)(?:\d*|_(\d+)_(\d+))_([a-z]\w*)")
_HERE = sysconfig.get_platform().replace("-", "_").replace(".", "_")
#: This machine, or one with the C library that most wheels ask for.
_USUAL = re.sub("^linux_", "manylinux_2_28_", _HERE)


def set_up(parser: argparse.ArgumentParser) -> None:
    """Say what the command takes."""
    parser.description = (
        "Fills OUT with wheels, the catalogue of models and notes on how to install "
        "them. The one command that needs a package registry."
    )
    here = f"{sys.version_info.major}.{sys.version_info.minor}"
    parser.add_argument("out", metavar="OUT", type=Path, help="a folder that is new or empty")
    parser.add_argument("--python", metavar="X.Y", default=here, help=f"target ({here})")
    parser.add_argument("--platform", metavar="TAG", default=_USUAL, help=f"target ({_USUAL})")
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
    out: Path = arguments.out
    if out.exists() and any(out.iterdir()):
        raise UsageProblem(f"not empty: {str(out)!r} (name a new folder for the bundle)")
    build = not arguments.without_llama and arguments.llama_wheel is None
    if build and _kind(arguments.platform) != _kind(_HERE):
        raise UsageProblem(
            f"llama-cpp-python cannot be built here for {arguments.platform!r} (run this on such a "
            "machine, or give its wheel: --llama-wheel FILE, or --without-llama)"
        )
    wheels = out / "wheels"
    wheels.mkdir(parents=True, exist_ok=True)
    _gather(wheels, arguments, build=build)
    for file in arguments.model:
        _say(f"the model {file.name}")
        add_model(file, out / "models", link=False)
    shutil.copy(catalogue_path(), out / "catalogue.toml")
    (out / "INSTALL.md").write_text(_notes(arguments), encoding="utf-8")
    count, size = _sum_up(out)
    print(f"{count} files, {size / 1e6:.0f} MB in {out} (how to go on: {out / 'INSTALL.md'})")


def _gather(wheels: Path, arguments: argparse.Namespace, *, build: bool) -> None:
    """Fill `wheels`: what is made here first, then by pip what that needs."""
    _say("pytest-brt itself")
    try:
        _pip("wheel", "--no-deps", "-w", str(wheels), _self())
    except BrtError as error:
        shutil.rmtree(wheels.parent)  # it was made for this, and holds nothing yet
        raise BrtError(
            f"{error} (of pytest-brt itself: run this where it was installed from a clone that is"
            " still there)"
        ) from error
    if build:
        _say("llama-cpp-python, compiled for any processor of this kind (minutes)")
        flags = _X86 if _kind(_HERE)[1] == "x86_64" else _OTHER
        # A wheel in pip's cache may have been built for this very processor.
        made = ["--no-deps", "--no-cache-dir", "--no-binary", "llama-cpp-python", _LLAMA]
        _pip("wheel", "-w", str(wheels), *made, CMAKE_ARGS=flags)
    elif arguments.llama_wheel is not None:
        try:
            shutil.copy(arguments.llama_wheel, wheels)
        except OSError as error:
            what = f"cannot copy {str(arguments.llama_wheel)!r}: {error.strerror}"
            raise UsageProblem(what) from error
    _say(f"what it needs, for Python {arguments.python} on {arguments.platform}")
    ours = f"pytest-brt[{_extras(arguments)}]=={__version__}"
    target = target_options(arguments.python, arguments.platform)
    _pip("download", "-d", str(wheels), "--find-links", str(wheels), *target, ours)


def _say(what: str) -> None:
    print(f"getting {what} …", flush=True)


def _kind(tag: str) -> tuple[str, str]:
    """Return the system and the processor that a tag is for."""
    found = _TAG.fullmatch(tag)
    return (found[1], found[4]) if found else (tag, "")


def _extras(arguments: argparse.Namespace) -> str:
    return "xdist" if arguments.without_llama else "llama,xdist"


def target_options(python: str, tag: str) -> list[str]:
    """Return the options by which pip fetches for a machine, older C libraries included."""
    tags, found = [tag], _TAG.fullmatch(tag)
    if found and found[1] == "linux":
        tags += [f"manylinux_2_{n}_{found[4]}" for n in range(int(found[3] or 17), 4, -1)]
        tags += [f"manylinux2014_{found[4]}", f"linux_{found[4]}"]
    return [
        "--only-binary", ":all:", "--implementation", "cp", "--python-version", python,
        "--abi", f"cp{python.replace('.', '')}", "--abi", "abi3", "--abi", "none",
        *(word for one in dict.fromkeys(tags) for word in ("--platform", one)),
    ]  # fmt: skip


def _self() -> str:
    """Return what pip makes our own wheel from: where it came from (PEP 610), or the registry."""
    told = importlib.metadata.distribution("pytest-brt").read_text("direct_url.json") or "{}"
    source = urlsplit(json.loads(told).get("url", ""))
    folder = Path(unquote(source.path))
    if source.scheme == "file" and folder.exists():
        return str(folder)
    return f"pytest-brt=={__version__}"


def _pip(*words: str, **env: str) -> None:
    command = [sys.executable, "-m", "pip", "--disable-pip-version-check", *words]
    done = subprocess.run(
        command,
        env={**os.environ, **env},
        capture_output=True,
        text=True,
        check=False,
        encoding="utf-8",
    )
    if done.returncode:
        lines = [line for line in done.stderr.split("\n") if line.strip()]
        errors = [line for line in lines if line.lstrip().upper().startswith("ERROR")]
        last = (errors or lines or ["no reason given"])[-1].strip()
        raise BrtError(f"pip {words[0]} failed: {last} (is a package registry in reach?)")


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


def _notes(arguments: argparse.Namespace) -> str:
    """Return how to install the bundle."""
    add = "    brt/bin/pytest-brt models add models/*.gguf\n" if arguments.model else ""
    return (
        f"# pytest-brt {__version__}, for Python {arguments.python} on {arguments.platform}\n\n"
        f"{about_llama(arguments)}\n\n"
        "On the machine without a network, in this folder:\n\n"
        f"    python{arguments.python} -m venv brt\n"
        "    brt/bin/pip install --no-index --find-links wheels --only-binary :all: "
        f"'pytest-brt[{_extras(arguments)}]'\n"
        f"    brt/bin/pytest-brt models doctor\n{add}"
        "\n`sha256sum -c SHA256SUMS` checks that everything came over whole. `catalogue.toml` "
        "lists models worth having.\n"
    )


def _sum_up(out: Path) -> tuple[int, int]:
    """Write SHA256SUMS and return the number of files and their bytes."""
    lines, size = [], 0
    for file in sorted(path for path in out.rglob("*") if path.is_file()):
        lines.append(f"{digest_of(file)}  {file.relative_to(out).as_posix()}\n")
        size += file.stat().st_size
    (out / "SHA256SUMS").write_text("".join(lines), encoding="utf-8")
    return len(lines), size
