"""A llama-server of our own: it starts when asked, is nobody else's, and ends with us."""

from __future__ import annotations

import itertools
import os
import signal
import stat
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest

from pytest_brt.errors import ModelProblem
from pytest_brt.model import llama_server
from pytest_brt.model.base import Finish, Message, Prompt, Role, Sampling, Settings
from pytest_brt.model.engine import open_file
from pytest_brt.model.form import grammar_for
from pytest_brt.model.llama_server import PrivateModel, arguments
from pytest_brt.model.memory import MemoryPlan
from pytest_brt.model.wire import Start
from pytest_brt.model.worker_model import WorkerModel
from pytest_brt.types.model import EngineChosen, EngineReason, ModelNote, Restarted
from tests.model import outlines
from tests.model.actions import JUDGE, Verdict, choice_grammar
from tests.model.headers import read_reply
from tests.support import real, tiny
from tests.support.llama import needs_llama
from tests.support.real import needs_server

SERVED = Settings(threads=1, context=1024, engine="llama-server")


def was_killed(note: ModelNote) -> bool:
    return isinstance(note, Restarted) and note.death.signal == "SIGKILL"


def prompt(text: str = "hello", *, max_tokens: int = 16, **how: object) -> Prompt:
    return Prompt(
        messages=(Message(role=Role.USER, text=text),),
        sampling=Sampling(max_tokens=max_tokens),
        **how,  # type: ignore[arg-type]  # test shorthand
    )


@pytest.fixture(scope="module")
def model(weights: Path) -> Iterator[PrivateModel]:
    """One for all: a server that was killed is started again."""
    opened = open_file(str(weights / "llama.gguf"), SERVED)
    assert isinstance(opened, PrivateModel)
    yield opened
    opened.close()


@needs_server
def test_it_answers_counts_and_measures(model: PrivateModel, weights: Path) -> None:
    assert (model.name, model.context) == ("llama.gguf", 1024)
    assert (model.count("hello"), model.count("")) == (5, 0)
    done = model.complete(prompt(samples=20))
    assert [answer.seed for answer in done] == list(range(20))
    assert len({answer.text for answer in done}) > 10
    assert done[0].prompt_tokens == model.count(prompt())
    assert sum(answer.evaluated for answer in done) <= 2 * done[0].prompt_tokens


@needs_server
def test_answers_have_the_form_that_was_asked_for(model: PrivateModel) -> None:
    chosen = model.complete(prompt(samples=4, grammar=choice_grammar("yes", "no")))
    assert {answer.text for answer in chosen} <= {"yes", "no"}
    judged = model.complete(prompt(max_tokens=900, samples=3, grammar=grammar_for(*JUDGE)))
    assert [read_reply(a.text, Verdict) for a in judged if a.finish is Finish.STOP]


@needs_server
def test_a_server_that_is_killed_is_started_again(model: PrivateModel) -> None:
    model.complete(prompt())
    first = model.pid
    os.killpg(first, signal.SIGKILL)
    assert model.complete(prompt())[0].tokens
    assert model.pid != first
    assert was_killed(model.notes[-1])


@needs_server
def test_a_server_that_dies_in_the_middle_is_asked_again(model: PrivateModel) -> None:
    model.complete(prompt())
    pid = model.pid
    assert model.process is not None
    server = model.process.server.server
    os.killpg(pid, signal.SIGSTOP)  # else it may have answered before it is killed
    with ThreadPoolExecutor(1) as pool:
        asked = prompt(samples=8, max_tokens=400, seconds=120.0)
        answers = pool.submit(model.complete, asked)
        while not server._live:
            time.sleep(0.001)
        os.killpg(pid, signal.SIGKILL)
        done = answers.result()
    assert all(was_killed(answer.notes[-1]) for answer in done)
    assert [answer.seed for answer in done] == list(range(8))
    assert all(answer.tokens for answer in done)


#: The package's server as a program that takes what ours gives llama-server.
PROGRAM = """\
#!{python}
import sys, time, xllamacpp
words = dict(zip(sys.argv[1::1], sys.argv[2::1]))
params = xllamacpp.CommonParams()
params.model.path, params.hostnames = words["--model"], [words["--host"]]
params.n_ctx, params.n_parallel = int(words["--ctx-size"]), int(words["--parallel"])
params.warmup = False
server = xllamacpp.Server(params)
time.sleep(600)
"""


@needs_server
def test_a_program_that_is_killed_is_noticed(
    weights: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """For want of memory the system ends the program, and not the process around it."""
    program = tmp_path / "llama-server"
    program.write_text(PROGRAM.format(python=sys.executable), encoding="utf-8")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    model = open_file(str(weights / "llama.gguf"), SERVED)
    assert isinstance(model, PrivateModel)
    assert model.complete(prompt())[0].tokens
    around = model.pid
    children = Path(f"/proc/{around}/task/{around}/children").read_text(encoding="ascii")
    os.kill(int(children), signal.SIGKILL)
    assert model.complete(prompt())[0].tokens
    assert was_killed(model.notes[-1])
    model.close()


@needs_server
def test_nobody_else_reaches_it_and_nothing_of_it_stays(weights: Path) -> None:
    model = open_file(str(weights / "llama.gguf"), SERVED)
    assert isinstance(model, PrivateModel)
    model.complete(prompt())
    assert model.process is not None
    folder = Path(model.process.folder.name)
    assert model.process.server.server.url == f"unix://{folder}/s.sock"
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    model.close()
    assert not folder.exists()


@needs_server
def test_it_needs_no_network(weights: Path) -> None:
    """Not even loopback, which a new namespace has switched off."""
    script = (
        "import sys\n"
        "from pytest_brt.model.base import *\n"
        "from pytest_brt.model.engine import open_file\n"
        "model = open_file(sys.argv[1], Settings(threads=1, context=512, engine='llama-server'))\n"
        "print(model.count('hello')); model.close()\n"
    )
    command = ["unshare", "-rn", sys.executable, "-c", script, str(weights / "llama.gguf")]
    try:
        subprocess.run(["unshare", "-rn", "true"], check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("no namespaces here")
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout == "5\n"


@needs_server
def test_it_ends_with_its_parent(weights: Path) -> None:
    script = (
        "import sys, time\n"
        "from pytest_brt.model.base import *\n"
        "from pytest_brt.model.engine import open_file\n"
        "model = open_file(sys.argv[1], Settings(threads=1, context=512, engine='llama-server'))\n"
        "model.count('a'); print(model.pid, model.process.folder.name, flush=True)\n"
        "time.sleep(600)\n"
    )
    with subprocess.Popen(
        [sys.executable, "-c", script, str(weights / "llama.gguf")], stdout=subprocess.PIPE
    ) as parent:
        assert parent.stdout is not None
        pid, folder = parent.stdout.readline().decode().split()
        parent.kill()
    end = time.monotonic() + 60
    while time.monotonic() < end and Path(f"/proc/{pid}").exists():
        time.sleep(0.05)
    assert not Path(f"/proc/{pid}").exists()
    assert not Path(folder).exists()


@needs_server
def test_what_cannot_be_served_is_one_line(tmp_path: Path, weights: Path) -> None:
    data = bytearray((weights / "llama.gguf").read_bytes())
    broken = tmp_path / "broken.gguf"
    broken.write_bytes(data.replace(b"llama.block_count", b"llama.block_coun_"))
    model = open_file(str(broken), SERVED)
    with pytest.raises(ModelProblem, match=r"llama-server cannot serve .*broken.gguf") as caught:
        model.complete(prompt())
    assert "\n" not in str(caught.value)
    model.close()


@needs_llama
@needs_server
def test_auto_says_what_it_chose_and_why(weights: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = str(weights / "llama.gguf")
    auto = Settings(threads=1, context=512)
    model = open_file(path, auto)
    assert isinstance(model, WorkerModel)
    assert model.notes == (EngineChosen(why=EngineReason.FITS),)
    monkeypatch.setattr("pytest_brt.model.engine.available_bytes", lambda: 1 << 20)
    small = open_file(path, auto)
    assert isinstance(small, PrivateModel)
    assert isinstance(small.notes[0], EngineChosen)
    assert (small.notes[0].why, "are available" in small.notes[0].said) == ("too-large", True)
    monkeypatch.setattr("pytest_brt.model.engine.find_server", lambda: "")
    with pytest.raises(ModelProblem, match="are available"):
        open_file(path, auto)
    with pytest.raises(ModelProblem, match=r"no llama-server: .*pytest-brt\[server\]"):
        open_file(path, SERVED)
    small.close()


@needs_server
def test_experts_stay_in_memory_where_a_server_runs_the_model(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = str(outlines.experts(tmp_path / "m.gguf", layers=4, width=64, count=8, tokens=300))
    settings = Settings(threads=1, context=512, cpu_experts=3)
    with pytest.raises(
        ModelProblem, match="--brt-engine auto,cpu-experts=3: only a llama-server can do that"
    ):
        open_file(path, replace(settings, engine="inprocess"))
    model = open_file(path, settings)
    assert isinstance(model, PrivateModel)
    assert model.complete(prompt())[0].tokens
    model.close()
    monkeypatch.setattr("pytest_brt.model.engine.find_server", lambda: "")
    with pytest.raises(
        ModelProblem, match=r"--brt-engine auto,cpu-experts=3: .*pytest-brt\[server\]"
    ):
        open_file(path, settings)


@needs_llama
@pytest.mark.parametrize("engine", ["inprocess", "llama-server"])
def test_the_context_may_be_kept_in_fewer_bits(weights: Path, engine: str) -> None:
    if engine == "llama-server" and not llama_server.find_server():
        pytest.skip("wants the extra server")
    settings = Settings(threads=1, context=512, cache_type="q8_0", engine=engine)
    # Blocks of 32 values: heads must be as wide.
    path = tiny.write_llama(weights / "wide.gguf", width=128)
    model = open_file(str(path), settings)
    assert model.complete(prompt(samples=3))[2].tokens
    model.close()


def test_the_program_is_asked_for_what_the_package_is(monkeypatch: pytest.MonkeyPatch) -> None:
    setup = MemoryPlan(longest=4096, cells=4096, lanes=8, sequences=24, threads=2)
    start = Start(
        path="m.gguf", template="", plan=setup, socket="/tmp/s/s.sock", program="/bin/llama-server",
        gpu_layers=12, cpu_experts=4, cache_type="q8_0",
    )  # fmt: skip
    words = arguments(start)
    pairs = dict(itertools.pairwise(words))
    assert pairs["--host"] == "/tmp/s/s.sock"
    assert pairs["--n-gpu-layers"] == "12"
    assert pairs["--n-cpu-moe"] == "4"
    assert pairs["--cache-type-v"] == "q8_0"
    monkeypatch.setattr(llama_server.shutil, "which", lambda _: "/bin/llama-server")  # type: ignore[attr-defined]
    assert llama_server.find_server() == "/bin/llama-server"


@needs_server
@needs_llama
def test_both_engines_count_the_tokens_of_a_real_model_alike() -> None:
    path = str(real.model("smollm2"))
    texts = ["def f(x):\n    return x + 1\n", "ünïcödé 日本", "<|im_end|>"]
    ours, theirs = (
        open_file(path, Settings(threads=1, context=512, engine=engine))
        for engine in ("inprocess", "llama-server")
    )
    try:
        assert [*map(ours.count, texts)] == [*map(theirs.count, texts)]
        assert ours.count(prompt()) == theirs.count(prompt())
    finally:
        ours.close()
        theirs.close()
