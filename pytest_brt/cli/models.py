"""``pytest-brt models``: what models there are, what they need, and whether they work here."""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from pathlib import Path
from typing import Any

from pytest_brt.errors import BrtError

_GIB = 1 << 30


def register(commands: Any) -> None:
    """Add the command to `commands`, as `argparse` made it."""
    parser = commands.add_parser(
        "models",
        help="list, add, check and measure local models",
        description="Local models: GGUF files in the model folder (PYTEST_BRT_MODELS).",
    )
    add_arguments(parser)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the sub-commands of ``models``; without one, the models are listed."""
    parser.add_argument("--folder", metavar="DIR", default="", help="the model folder")
    parser.set_defaults(command=run, action=_list)
    actions = parser.add_subparsers(title="actions", metavar="ACTION")
    for name, action, text in (
        ("list", _list, "models you have and models worth having"),
        ("add", _add, "check a GGUF file and put it into the model folder"),
        ("verify", _verify, "compare a model with the digest it had when it was added"),
        ("info", _info, "what a model is and what it needs, without loading it"),
        ("doctor", _doctor, "whether local models work on this machine, and why not"),
        ("bench", _bench, "how fast a model is here"),
    ):
        sub = actions.add_parser(name, help=text, description=text)
        sub.set_defaults(command=run, action=action)
        if action is _add:
            sub.add_argument("file", metavar="FILE", type=Path)
            sub.add_argument("--link", action="store_true", help="link it instead of copying it")
        elif action in (_verify, _info, _bench):
            sub.add_argument("model", metavar="MODEL", help="a file, or a name in the folder")
        if action in (_info, _bench):
            sub.add_argument("--context", type=int, metavar="N", default=0, help="tokens")


def run(arguments: argparse.Namespace) -> int:
    """Carry the chosen action out and return the exit code.

    Raises:
        BrtError: it cannot be done; one line says why.
    """
    return int(arguments.action(arguments))


def _folder(arguments: argparse.Namespace) -> Path:
    from pytest_brt.model.catalogue import models_folder

    return models_folder(arguments.folder)


def _find(arguments: argparse.Namespace) -> Path:
    from pytest_brt.model.catalogue import find_model

    return find_model(arguments.model, _folder(arguments))


def _list(arguments: argparse.Namespace) -> int:
    from pytest_brt.model.catalogue import check_unchanged, model_files, read_catalogue
    from pytest_brt.model.gguf import read_header

    folder = _folder(arguments)
    files = model_files(folder)
    print(f"models in {folder}:" if files else f"no models in {folder} yet")
    for file in files:
        try:
            header = read_header(file)
        except BrtError as problem:
            print(f"  {file.stem}: {problem}")
            continue
        facts = f"{header.architecture}, {header.quantisation}, {_size(header.size)}"
        changed = check_unchanged(file)
        print(f"  {file.stem}: {facts}" + (f"; {changed}" if changed else ""))
    print("\nworth having (none measured here; facts and sources: models/catalogue.toml):")
    for entry in read_catalogue():
        print(f"  {entry.tier}  {entry.name}: {entry.parameters}; {entry.licence}; {entry.size}")
    return 0


def _add(arguments: argparse.Namespace) -> int:
    from pytest_brt.model.catalogue import add_model, known_facts

    target = add_model(arguments.file, _folder(arguments), link=arguments.link)
    facts = known_facts(target)
    print(f"added {target}" + (f"\nSHA-256 {facts.sha256}" if facts else ""))
    print(f"use it: pytest --brt-model gguf:{target.stem} …")
    return 0


def _verify(arguments: argparse.Namespace) -> int:
    from pytest_brt.model.catalogue import verify_model

    file = _find(arguments)
    digest, known = verify_model(file)
    what = "unchanged since it was added" if known else "noted: compare it with its publisher's"
    print(f"{file.name}: SHA-256 {digest}, {what}")
    return 0


def _info(arguments: argparse.Namespace) -> int:
    from pytest_brt.model.base import Settings
    from pytest_brt.model.gguf import read_header
    from pytest_brt.model.machine import available_bytes
    from pytest_brt.model.memory import needed_bytes, plan

    header = read_header(_find(arguments))
    print(f"file          {header.path} ({_size(header.size)})")
    print(f"model         {header.name or '(no name)'}, architecture {header.architecture!r}")
    print(f"parameters    {header.parameters / 1e9:.2f} billion, {header.layers} layers")
    weights = ", ".join(f"{kind} {_size(size)}" for kind, size in header.types[:4])
    print(f"weights       {weights}")
    print(f"context       trained for {header.context or 'an unknown number of'} tokens")
    state = ", and a fixed state: prefixes are continued, not cut" if header.recurrent else ""
    print(f"per token     {header.kv_bytes_per_token} bytes of context memory{state}")
    print(f"template      {_template(header.chat_template)}")
    chosen = (arguments.context,) if arguments.context else (4096, 8192, 16384, 32768)
    for context in chosen:
        if context <= (header.context or context):
            print(f"memory        {_size(needed_bytes(header, context))} with {context} tokens")
    setup = plan(header, Settings(context=arguments.context), available_bytes())
    print(f"here          {setup.longest} tokens of context, {setup.lanes} answers at a time")
    for note in setup.notes:
        print(f"              {note}")
    return 0


def _template(source: str) -> str:
    """Say what a chat template knows of."""
    from pytest_brt.model.base import Message, Role
    from pytest_brt.model.chat import Begins, Template

    if not source:
        return "none: name a file with one, gguf:PATH+template:FILE"
    try:
        template = Template(source, where="it")
        rendering = template.render((Message(role=Role.USER, text="hello"),))
    except BrtError as problem:
        return str(problem)
    if template.thinks:
        return "works; thinks where a question deserves it (--brt-thinking)"
    if rendering.begins is Begins.EITHER:
        return "works; thinks when the model begins to by itself"
    return "works; does not think"


def _doctor(arguments: argparse.Namespace) -> int:
    from pytest_brt.model.doctor import Check, examine, sound

    checks: list[Check] = []
    for check in (*examine(_folder(arguments)), _sandbox()):
        checks.append(check)
        print(f"{check.state:<5} {check.name:<17} {check.text}", flush=True)
    return 0 if sound(checks) else 1


def _sandbox() -> Any:
    """Try which isolation the tests would get."""
    from pytest_brt.execute.ladder import climb
    from pytest_brt.execute.row import Limits
    from pytest_brt.execute.subject import find_subject
    from pytest_brt.model.doctor import Check, State

    with tempfile.TemporaryDirectory(prefix="brt-doctor-") as folder:
        try:
            subject = find_subject(Path(folder), python=sys.executable, env=os.environ)
            engine = climb(subject, sandbox="auto", net="none", limits=Limits(), jobs=1)
        except BrtError as problem:
            return Check(name="sandbox", state=State.NOTE, text=str(problem))
        level = engine.level
        engine.close()
    return Check(name="sandbox", state=State.OK, text=f"level {level!r}")


def _bench(arguments: argparse.Namespace) -> int:
    from pytest_brt.model.base import Settings
    from pytest_brt.model.local import open_gguf
    from pytest_brt.model.speed import measure_speed

    file = _find(arguments)
    model = open_gguf(str(file), Settings(context=arguments.context))
    try:
        speed = measure_speed(model)
    finally:
        model.close()
    print(f"reading          {speed.reading:8.1f} tokens/s (a prompt of {speed.prompt_tokens})")
    print(f"writing 1        {speed.writing:8.1f} tokens/s")
    print(f"writing 16       {speed.together:8.1f} tokens/s together")
    cost = speed.together / speed.together_grammar - 1
    print(f"… with a grammar {speed.together_grammar:8.1f} tokens/s together ({cost:+.0%} time)")
    used = speed.writing * file.stat().st_size
    print(
        f"memory           {speed.bandwidth / 1e9:8.1f} GB/s; writing 1 reads {used / 1e9:.1f} GB/s"
    )
    return 0


def _size(size: int) -> str:
    if size < _GIB // 10:
        return f"{size / (1 << 20):.1f} MiB"
    return f"{size / _GIB:.2f} GiB"
