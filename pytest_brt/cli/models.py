"""``pytest-brt models``: what models there are."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from datetime import date
from pathlib import Path

from pytest_brt.errors import BrtError
from pytest_brt.model import catalogue
from pytest_brt.model.gguf import is_later_part, parts_of, read_header
from pytest_brt.model.memory import available_bytes, needed_bytes
from pytest_brt.model.usual import running_servers, usual_servers
from pytest_brt.shown import say

_GIB = 1 << 30
#: Tokens of context below which a model is of little use.
_LEAST_CONTEXT = 8192


def set_up(parser: argparse.ArgumentParser) -> None:
    """Say what the command takes."""
    parser.description = "Local models: GGUF files in the model folder (PYTEST_BRT_MODELS)."
    parser.add_argument(
        "--folder", metavar="DIR", type=catalogue.models_folder, default="", help="the model folder"
    )
    parser.set_defaults(command=_list)
    actions = parser.add_subparsers(title="actions", metavar="ACTION")
    for name, action, text in (
        (
            "list",
            _list,
            "models you have, in other programs' caches and servers too, and models worth having",
        ),
        ("add", _add, "check GGUF files and put them into the model folder"),
    ):
        sub = actions.add_parser(name, help=text, description=text)
        sub.set_defaults(command=action)
        if action is _add:
            sub.add_argument("files", metavar="FILE", type=Path, nargs="+")
            sub.add_argument("--link", action="store_true", help="link them instead of copying")


def _list(arguments: argparse.Namespace) -> None:
    folder: Path = arguments.folder
    files = catalogue.model_files(folder)
    say(f"models in {folder}:" if files else f"no models in {folder} yet")
    for file in files:
        say(f"  {file.stem}: {_facts(file)}")
    others = catalogue.cached_models()
    if others:
        say("\nof other programs (read where they are: --brt-model gguf:NAME):")
    for found in others:
        say(f"  {found.name}: {_facts(found.path)}; {found.owner}")
    _list_servers()
    say("\nworth having (none measured here; facts and sources: models/catalogue.toml):")
    memory = available_bytes()
    for entry in catalogue.read_catalogue():
        facts = f"{entry.parameters}; {entry.size}; {entry.licence}; thinks: {entry.thinks}"
        about = "".join(f"; {remark}" for remark in _remarks(entry, memory))
        say(f"  {entry.tier:<9} {entry.name}: {facts}; {entry.repository} {entry.file}{about}")


def _list_servers() -> None:
    """Say which servers run, and how their models are named."""
    running = running_servers(usual_servers())
    if not running:
        say("\nno server runs on the usual ports of llama.cpp, LM Studio and Ollama")
        return
    say("\nof servers that run (--brt-model NAME, as it stands here):")
    for server in running:
        names = ", ".join(server.models) or "no model yet"
        say(f"  {names}; {server.program} on port {server.port}")


def _remarks(entry: catalogue.CatalogueEntry, memory: int) -> Iterator[str]:
    """Yield what this machine and this day add to a row; what a GPU has is not known here."""
    if entry.tier.startswith("cpu") and memory:
        free = f"{_size(memory)} free"
        yield f"fits this machine, {free}" if entry.fits(memory) else f"too large here, {free}"
    if entry.is_old(date.today()):
        yield f"checked on {entry.checked}, more than a year ago: there may be better ones"


def _facts(file: Path) -> str:
    try:
        header = read_header(file)
    except BrtError as problem:
        return str(problem)
    memory = available_bytes()
    fits = not memory or needed_bytes(header, min(_LEAST_CONTEXT, header.context or 1)) <= memory
    facts = f"{header.architecture}, {header.quantisation}, {_size(header.size)}"
    return facts if fits else f"{facts}, too large for the {_size(memory)} that are free"


def _add(arguments: argparse.Namespace) -> None:
    # A pattern names all parts of a model, of which the first brings the others.
    given, folder = set(arguments.files), arguments.folder
    for file in arguments.files:
        if is_later_part(file) and parts_of(file)[0] in given:
            continue
        parts = catalogue.add_model(file, folder, link=arguments.link)
        say(f"added {parts[0]}")
        for part in parts:  # as `sha256sum -c` reads it
            say(f"{catalogue.digest_of(part)}  {part}")
        say(f"use it: pytest --brt-model gguf:{parts[0].stem} …")


def _size(size: int) -> str:
    if size < _GIB // 10:
        return f"{size / (1 << 20):.1f} MiB"
    return f"{size / _GIB:.2f} GiB"
