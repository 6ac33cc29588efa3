"""``pytest-brt models``: what models there are, what they need, and whether they work here."""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
from contextlib import closing
from dataclasses import replace
from pathlib import Path

from pytest_brt.errors import BrtError
from pytest_brt.execute.engine import Limits
from pytest_brt.execute.launch import open_engine
from pytest_brt.execute.subject import find_subject
from pytest_brt.model import catalogue
from pytest_brt.model.base import Message, Model, Prompt, Role, Sampling, Settings
from pytest_brt.model.chat import Begins, Template
from pytest_brt.model.doctor import Check, CheckState, examine
from pytest_brt.model.gguf import is_later_part, parts_of, read_header
from pytest_brt.model.memory import DoesNotFit, available_bytes, bandwidth, needed_bytes, plan
from pytest_brt.model.opening import open_file
from pytest_brt.shown import say

_GIB = 1 << 30


def set_up(parser: argparse.ArgumentParser) -> None:
    """Say what the command takes."""
    parser.description = "Local models: GGUF files in the model folder (PYTEST_BRT_MODELS)."
    parser.add_argument(
        "--folder", metavar="DIR", type=catalogue.models_folder, default="", help="the model folder"
    )
    parser.set_defaults(command=_list)
    actions = parser.add_subparsers(title="actions", metavar="ACTION")
    for name, action, text in (
        ("list", _list, "models you have, also in other programs' caches, and models worth having"),
        ("add", _add, "check GGUF files and put them into the model folder"),
        ("remove", _remove, "delete a model from the model folder"),
        ("default", _default, "take a model when none is named"),
        ("alias", _alias, "give a model a short name"),
        ("verify", _verify, "compare a model with the digest it had when it was added"),
        ("info", _info, "what a model is and what it needs, without loading it"),
        ("doctor", _doctor, "whether local models work on this machine, and why not"),
        ("bench", _bench, "how fast a model is here"),
    ):
        sub = actions.add_parser(name, help=text, description=text)
        sub.set_defaults(command=action)
        if action is _add:
            sub.add_argument("files", metavar="FILE", type=Path, nargs="+")
            sub.add_argument("--link", action="store_true", help="link them instead of copying")
        elif action is _alias:
            sub.add_argument("alias", metavar="NAME", help="the short name")
        if action in (_verify, _info, _bench, _remove, _default, _alias):
            sub.add_argument("model", metavar="MODEL", help="a file, or the name of a model")
        if action is _doctor:
            what = "try this one (default: a small hybrid with random weights)"
            sub.add_argument("model", metavar="MODEL", nargs="?", default="", help=what)
        if action in (_info, _bench):
            sub.add_argument("--context", type=int, metavar="N", default=0, help="tokens")


def _find(arguments: argparse.Namespace) -> Path:
    return catalogue.find_model(arguments.model, arguments.folder)


def _list(arguments: argparse.Namespace) -> None:
    folder: Path = arguments.folder
    files, notes = catalogue.model_files(folder), catalogue.read_notes(folder)
    say(f"models in {folder}:" if files else f"no models in {folder} yet")
    for file in files:
        default = "; the default" if notes.default == file.stem else ""
        say(f"  {file.stem}: {_facts(file)}{default}")
    for alias, target in sorted(notes.aliases.items()):
        say(f"  {alias}: another name of {target}")
    others = catalogue.cached_models()
    if others:
        say("\nof other programs (read where they are: --brt-model gguf:NAME):")
    for found in others:
        say(f"  {found.name}: {_facts(found.path)}; {found.owner}")
    say("\nworth having (none measured here; facts and sources: models/catalogue.toml):")
    for entry in catalogue.read_catalogue():
        facts = f"{entry.parameters}; {entry.size}; {entry.licence}; thinks: {entry.thinks}"
        say(f"  {entry.tier:<9} {entry.name}: {facts}; {entry.repository} {entry.file}")


def _facts(file: Path) -> str:
    try:
        header = read_header(file)
    except BrtError as problem:
        return str(problem)
    return f"{header.architecture}, {header.quantisation}, {_size(header.size)}"


def _add(arguments: argparse.Namespace) -> None:
    # A pattern names all parts of a model, of which the first brings the others.
    given, folder = set(arguments.files), arguments.folder
    for file in arguments.files:
        if is_later_part(file) and parts_of(file)[0] in given:
            continue
        target = catalogue.add_model(file, folder, link=arguments.link)
        say(f"added {target}\nSHA-256 {catalogue.read_notes(folder).digests[target.stem]}")
        say(f"use it: pytest --brt-model gguf:{target.stem} …")


def _remove(arguments: argparse.Namespace) -> None:
    for path in catalogue.remove_model(_find(arguments), arguments.folder):
        say(f"removed {path}")


def _default(arguments: argparse.Namespace) -> None:
    folder, name = arguments.folder, _called(arguments)
    catalogue.write_notes(folder, replace(catalogue.read_notes(folder), default=name))
    say(f"{name} is taken when no model is named (--brt-model none for none)")


def _alias(arguments: argparse.Namespace) -> None:
    folder, name = arguments.folder, _called(arguments)
    notes = catalogue.read_notes(folder)
    catalogue.write_notes(folder, replace(notes, aliases={**notes.aliases, arguments.alias: name}))
    say(f"{arguments.alias} is another name of {name}")


def _called(arguments: argparse.Namespace) -> str:
    """Return how a model that there is will be found again: its name here, else its path."""
    file = _find(arguments)
    read_header(file)
    return catalogue.noted_name(file, arguments.folder)


def _verify(arguments: argparse.Namespace) -> None:
    for file, digest, known in catalogue.verify_model(_find(arguments), arguments.folder):
        what = "unchanged since it was added" if known else "noted: compare it with its publisher's"
        say(f"{file.name}: SHA-256 {digest}, {what}")


def _info(arguments: argparse.Namespace) -> None:
    header = read_header(_find(arguments))
    say(f"file          {header.path} ({_size(header.size)})")
    say(f"model         {header.name or '(no name)'}, architecture {header.architecture!r}")
    say(f"parameters    {header.parameters / 1e9:.2f} billion, {header.layers} layers")
    weights = ", ".join(f"{kind} {_size(size)}" for kind, size in header.types.most_common(4))
    say(f"weights       {weights}")
    say(f"context       trained for {header.context or 'an unknown number of'} tokens")
    fixed = f", and {_size(header.state_bytes)} for each answer at a time"
    state = fixed if header.state_bytes else ""
    say(f"per token     {header.kv_bytes_per_token} bytes of context memory{state}")
    say(f"template      {_template(header.chat_template)}")
    chosen = (arguments.context,) if arguments.context else (4096, 8192, 16384, 32768)
    for context in chosen:
        if context <= (header.context or context):
            say(f"memory        {_size(needed_bytes(header, context))} with {context} tokens")
    try:
        setup = plan(header, Settings(context=arguments.context), available_bytes())
    except DoesNotFit as problem:
        say(f"here          does not fit: {problem}")
        return
    say(f"here          {setup.longest} tokens of context, {setup.lanes} answers at a time,")
    say(f"              {_size(setup.needed)} in all, {setup.threads} threads")
    read = bandwidth()  # each token reads the weights that are active once
    most = f"at most {read / header.active_bytes:.1f} tokens/s for one answer"
    say(f"speed         {most}: memory is read at {read / 1e9:.0f} GB/s")
    for note in setup.notes:
        say(f"              {note}")


def _template(source: str) -> str:
    """Say what a chat template knows of."""
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
    checks = (*examine(arguments.folder, arguments.model), _sandbox())
    for check in checks:
        say(f"{check.state:<5} {check.name:<17} {check.text}")
    return 1 if any(check.state is CheckState.FAIL for check in checks) else 0


def _sandbox() -> Check:
    """Try which isolation the tests would get."""
    with tempfile.TemporaryDirectory(prefix="brt-doctor-") as folder:
        try:
            subject = find_subject(Path(folder), python=sys.executable, env=os.environ)
            engine = open_engine(subject, limits=Limits())
        except BrtError as problem:
            return Check("sandbox", str(problem), CheckState.NOTE)
        level = engine.level
        engine.close()
    return Check("sandbox", f"level {level!r}")


def _bench(arguments: argparse.Namespace) -> None:
    model = open_file(str(_find(arguments)), Settings(context=arguments.context))
    text = " ".join(f"item {number} is {number * 7919 % 1000}" for number in range(95))
    with closing(model):
        model.count("load")
        read, _, seconds = _ask(model, text, 1, 1)
        say(f"reading          {read / seconds:8.1f} tokens/s (a prompt of {read})")
        for samples, label in ((1, "1 "), (16, "16")):
            _, made, seconds = _ask(model, text, samples, 48)
            say(f"writing {label}       {made / seconds:8.1f} tokens/s")


def _ask(model: Model, text: str, samples: int, tokens: int) -> tuple[int, int, float]:
    """Return the tokens of the prompt, those made, and the seconds it took."""
    message = Message(role=Role.USER, text=text)
    sampling = Sampling(max_tokens=tokens, seed=1)
    start = time.monotonic()
    done = model.complete(Prompt(messages=(message,), samples=samples, sampling=sampling))
    seconds = max(time.monotonic() - start, 1e-9)
    return done[0].prompt_tokens, max(1, sum(answer.tokens for answer in done)), seconds


def _size(size: int) -> str:
    if size < _GIB // 10:
        return f"{size / (1 << 20):.1f} MiB"
    return f"{size / _GIB:.2f} GiB"
