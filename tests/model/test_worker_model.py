"""The worker process: what ends it must not end us."""

from __future__ import annotations

import contextlib
import os
import random
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest

from pytest_brt.errors import ModelProblem
from pytest_brt.model.base import Completion, Grammar, Message, Prompt, Role, Sampling, Settings
from pytest_brt.model.engine import open_file
from pytest_brt.model.kept import KeptAnswers
from pytest_brt.model.llama_server import PrivateModel, find_server
from pytest_brt.model.worker_model import Asked, WorkerModel
from pytest_brt.types.model import AnswersLost, ModelNote, PlainWeights, Restarted
from tests.support import tiny
from tests.support.llama import needs_llama, open_gguf
from tests.support.rounds import rounds
from tests.support.tiny import Value, write_gguf

pytestmark = needs_llama

FAST = Settings(threads=1)


def was_killed(note: ModelNote) -> bool:
    return isinstance(note, Restarted) and note.death.signal == "SIGKILL"


def prompt(text: str = "hello", *, samples: int = 1, max_tokens: int = 20, **how: object) -> Prompt:
    return Prompt(
        messages=(Message(role=Role.USER, text=text),),
        samples=samples,
        sampling=Sampling(max_tokens=max_tokens),
        **how,  # type: ignore[arg-type]  # test shorthand
    )


@pytest.fixture
def model(weights: Path) -> Iterator[WorkerModel]:
    """One for each: how figures are rounded depends on what was read before."""
    opened = open_gguf(str(weights / "llama.gguf"), FAST)
    yield opened
    opened.close()


def kill(pid: int) -> None:
    """Kill a worker; 0, which stands for none, would mean this very process group."""
    if pid > 0:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


def gone(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    return False


def underway(model: WorkerModel, count: int) -> None:
    """Wait until the worker has been given that many orders that it has not answered."""
    while not model.process or len(model.process.waiting) < count:
        time.sleep(0.001)


@pytest.fixture(scope="module")
def slow(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """So deep that a prompt, or answers, take minutes."""
    return tiny.write_llama(tmp_path_factory.mktemp("slow") / "slow.gguf", layers=200)


def test_it_answers_counts_and_measures(model: WorkerModel) -> None:
    assert model.name == "llama.gguf"
    assert [model.count(text) for text in ("hello", "", "a <|im_end|> b")] == [5, 0, 14]
    assert model.count(prompt("hello")) == model.complete(prompt("hello"))[0].prompt_tokens
    assert [done.seed for done in model.complete(prompt(samples=3))] == [0, 1, 2]


def test_many_threads_ask_at_once(model: WorkerModel) -> None:
    with ThreadPoolExecutor(12) as pool:
        asked = list(pool.map(lambda n: model.complete(prompt(f"q{n}")), range(40)))
    again = [model.complete(prompt(f"q{n}")) for n in range(40)]
    assert [a[0].text for a in asked] == [b[0].text for b in again]


def test_nothing_starts_before_the_first_prompt(weights: Path) -> None:
    model = open_gguf(str(weights / "llama.gguf"), FAST)
    assert model.pid == 0
    model.close()


def test_close_ends_the_process_and_what_it_was_asked(slow: Path) -> None:
    model = open_gguf(str(slow), FAST)
    model.count("x")
    pid = model.pid
    with ThreadPoolExecutor(4) as pool:
        asked = [pool.submit(model.complete, prompt(max_tokens=3000, samples=8)) for _ in range(3)]
        underway(model, 3)
        start = time.monotonic()
        model.close()
        assert all(isinstance(future.exception(), ModelProblem) for future in asked)
        assert time.monotonic() - start < 20
    assert gone(pid)
    with pytest.raises(ModelProblem, match="was closed"):
        model.complete(prompt())


@pytest.mark.parametrize("engine", ["inprocess", "llama-server"])
def test_close_ends_a_process_that_is_still_loading(slow: Path, engine: str) -> None:
    if engine == "llama-server" and not find_server():
        pytest.skip("wants the extra server")
    model = open_file(str(slow), replace(FAST, engine=engine))
    assert isinstance(model, WorkerModel | PrivateModel)
    with ThreadPoolExecutor(1) as pool:
        asked = pool.submit(model.count, "x")
        while not model.process:
            time.sleep(0.001)
        process = model.process.popen
        model.close()
        with pytest.raises(ModelProblem, match="was closed"):
            asked.result()
    assert process.poll() is not None


def test_a_killed_worker_is_replaced_and_the_answer_says_so(model: WorkerModel) -> None:
    (before,) = model.complete(prompt())
    pid = model.pid
    kill(pid)
    (after,) = model.complete(prompt())
    assert after.text == before.text
    assert model.pid not in (0, pid)


def test_a_prompt_that_is_underway_survives_a_kill(model: WorkerModel) -> None:
    question = prompt(max_tokens=500, samples=8)
    want = [done.text for done in model.complete(question)]
    pid = model.pid
    with ThreadPoolExecutor(1) as pool:
        asked = pool.submit(model.complete, question)
        underway(model, 1)
        kill(pid)
        got = asked.result()
    assert model.pid != pid
    assert [done.text for done in got] == want
    assert was_killed(got[0].notes[-1])


# Ends llama.cpp's own parser: the pre-check cannot see it, since it is the check that dies.
DEEP = Grammar(gbnf="root ::= " + "(" * 90_000 + '"a"' + ")" * 90_000)


def test_a_prompt_that_kills_is_found_and_the_others_live(model: WorkerModel) -> None:
    with ThreadPoolExecutor(6) as pool:
        good = [pool.submit(model.complete, prompt(f"q{n}", max_tokens=300)) for n in range(4)]
        bad = pool.submit(model.complete, prompt(grammar=DEEP))
        error = bad.exception()
        assert isinstance(error, ModelProblem)
        assert "died twice over this prompt" in str(error)
        assert "SIG" in str(error)
        for future in good:
            assert future.result()[0].tokens
    assert model.complete(prompt())[0].tokens


def test_a_bad_grammar_is_one_line(model: WorkerModel) -> None:
    model.complete(prompt())
    pid = model.pid
    with pytest.raises(ModelProblem, match="cannot parse the grammar") as caught:
        model.complete(prompt(grammar=Grammar(gbnf="root ::= missing")))
    assert "\n" not in str(caught.value)
    assert model.pid == pid


def test_output_on_the_workers_stdout_does_no_harm(tmp_path: Path, weights: Path) -> None:
    (tmp_path / "sitecustomize.py").write_text(
        "import os\nos.write(1, b'noise from a start-up hook\\n') if 0 else None\n"
        "import sys\nprint('to stderr', file=sys.stderr)\n",
        encoding="utf-8",
    )
    code = (
        "import sys; from pytest_brt.model.engine import open_file\n"
        "from pytest_brt.model.base import *\n"
        f"m = open_file({str(weights / 'llama.gguf')!r}, Settings(threads=1, engine='inprocess'))\n"
        "print(m.count('hello')); m.close()"
    )
    env = {**os.environ, "PYTHONPATH": os.pathsep.join([str(tmp_path), str(Path.cwd())])}
    done = subprocess.run(
        [sys.executable, "-c", code],
        env=env,
        capture_output=True,
        text=True,
        check=True,
        encoding="utf-8",
    )
    assert done.stdout == "5\n"


def test_a_fork_after_use_does_not_hang(model: WorkerModel) -> None:
    model.complete(prompt())
    pid = os.fork()
    if pid == 0:
        os._exit(0)  # what a zygote's child does with us
    assert os.waitpid(pid, 0)[1] == 0
    assert model.complete(prompt())[0].tokens


def test_an_illegal_instruction_is_gone_round(weights: Path) -> None:
    model = open_gguf(str(weights / "llama.gguf"), FAST)
    (before,) = model.complete(prompt())
    os.kill(model.pid, signal.SIGILL)
    assert model.complete(prompt("x"))[0].tokens
    assert PlainWeights() in model.notes
    assert not model.start.rearrange
    assert model.complete(prompt())[0].text == before.text
    model.close()


def test_quantised_weights_work(tmp_path: Path) -> None:
    path = tiny.write_llama(tmp_path / "q4.gguf", quantised=True)
    model = open_gguf(str(path), FAST)
    assert model.complete(prompt())[0].tokens
    model.close()


def test_two_models_side_by_side(weights: Path) -> None:
    first = open_gguf(str(weights / "llama.gguf"), FAST)
    second = open_gguf(str(weights / "mamba.gguf"), FAST)
    assert first.complete(prompt())[0].text != second.complete(prompt())[0].text
    assert first.pid != second.pid
    first.close()
    assert second.complete(prompt())[0].tokens
    second.close()


def test_an_architecture_that_llama_cpp_does_not_know(tmp_path: Path) -> None:
    words = tiny.vocabulary()
    keys: dict[str, Value] = {
        "general.architecture": "martian",
        "martian.context_length": 4096,
        "martian.block_count": 1,
        **words,
    }
    path = write_gguf(tmp_path / "m.gguf", keys, [tiny.RandomWeights().normal("w", 4, 4)])
    model = open_gguf(str(path), FAST)
    with pytest.raises(ModelProblem, match=r"cannot load .*martian") as caught:
        model.complete(prompt())
    assert "\n" not in str(caught.value)
    model.close()


def answering(model: WorkerModel) -> Asked:
    """Wait for the first answer of the worker, and return the order it belongs to."""
    while True:
        waiting = [*model.process.waiting.values()] if model.process else []
        for asked in waiting:
            if asked.found:
                return asked
        time.sleep(0.001)


#: Half of the answers end at once, half would take seconds.
LONG = prompt(
    samples=8,
    max_tokens=2000,
    grammar=Grammar(gbnf='root ::= "x" | "y" [a-z]{400} [a-z]{400}'),
    seconds=60.0,
)


def asked_beside(model: WorkerModel) -> tuple[list[tuple[Completion, ...]], threading.Thread]:
    """Return where the answers will be, and who waits for them."""
    done: list[tuple[Completion, ...]] = []
    asking = threading.Thread(target=lambda: done.append(model.complete(LONG)))
    asking.start()
    return done, asking


def test_only_what_a_kill_lost_is_asked_again(model: WorkerModel) -> None:
    done, asking = asked_beside(model)
    saved = dict(answering(model).found)
    kill(model.pid)
    asking.join()
    assert 0 < len(saved) < 8
    for number, answer in saved.items():
        assert replace(done[0][number], notes=()) == answer
    assert [answer.seed for answer in done[0]] == list(range(8))
    assert [answer.text for answer in done[0]] == [a.text for a in model.complete(LONG)]
    assert all(was_killed(answer.notes[-1]) for answer in done[0])


def test_what_was_answered_before_a_worker_died_twice_is_kept(model: WorkerModel) -> None:
    done, asking = asked_beside(model)
    saved = dict(answering(model).found)
    pid = model.pid
    kill(pid)
    while model.pid in (0, pid):  # this one dies while it loads, or at its first words
        time.sleep(0.001)
    kill(model.pid)
    asking.join()
    (answers,) = done
    assert 0 < len(saved) <= len(answers) < 8
    assert {answer.seed for answer in answers} >= set(saved)
    for answer in answers:
        (lost,) = answer.notes
        assert isinstance(lost, AnswersLost)
        assert (lost.count, lost.of) == (8 - len(answers), 8)
    assert model.complete(prompt(max_tokens=3))[0].tokens == 3


@pytest.mark.parametrize("engine", ["inprocess", "llama-server"])
def test_a_full_disk_is_one_line_where_a_file_is_needed(weights: Path, engine: str) -> None:
    """No byte may be written to a file: first once the folder for them is known, then before."""
    if engine == "llama-server" and not find_server():
        pytest.skip("wants the extra server")
    script = (
        "import resource, sys, tempfile\n"
        "from pytest_brt.errors import ModelProblem\n"
        "from pytest_brt.model.base import *\n"
        "from pytest_brt.model.engine import open_file\n"
        "tempfile.gettempdir() if sys.argv[3] else None\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))\n"
        "model = open_file(sys.argv[1], Settings(threads=1, context=1024, engine=sys.argv[2]))\n"
        "prompt = Prompt(messages=(Message(role=Role.USER, text='hi'),))\n"
        "try: print(len(model.complete(prompt)))\n"
        "except ModelProblem as problem: print(problem)\n"
        "model.close()\n"
    )
    for known, said in (
        ("known", "1\n"),
        ("", "needs a temporary file, and none can be had: No u"),
    ):
        command = [sys.executable, "-c", script, str(weights / "llama.gguf"), engine, known]
        done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=120)
        assert said in done.stdout
        assert done.stdout.count("\n") == 1


def test_a_weighty_question_gets_the_budget_and_no_other_one_does(tmp_path: Path) -> None:
    thinks = tiny.CHATML + "{% if enable_thinking %}<think>{% else %}<think></think>{% endif %}"
    path = tiny.write_llama(tmp_path / "m.gguf", words=tiny.vocabulary(template=thinks))
    model = open_gguf(str(path), Settings(threads=1, thinking=24, context=1024))
    plain = open_gguf(str(path), Settings(threads=1, thinking=0, context=1024))
    try:
        assert (model.context, plain.context) == (1000, 1024)
        assert model.complete(prompt(weighty=True))[0].tokens > 20
        assert model.complete(prompt(weighty=True))[0].thinking
        assert not model.complete(prompt())[0].thinking
        assert not plain.complete(prompt(weighty=True))[0].thinking
    finally:
        model.close()
        plain.close()


def test_no_chat_template_names_the_way_to_give_one(tmp_path: Path) -> None:
    path = tiny.write_llama(tmp_path / "m.gguf", words=tiny.vocabulary(template=""))
    with pytest.raises(ModelProblem, match=r"no chat template .*server:localhost"):
        open_gguf(str(path), FAST)


def test_too_large_a_context(weights: Path) -> None:
    with pytest.raises(ModelProblem, match=r"4000000: .* trained for 4096 tokens"):
        open_gguf(str(weights / "llama.gguf"), Settings(context=4_000_000))


def test_flipped_bytes_before_the_weights(weights: Path, tmp_path: Path) -> None:
    raw = (weights / "llama.gguf").read_bytes()
    random_ = random.Random(5)
    for number in range(4):
        at = random_.randrange(30, 9000)
        path = tmp_path / f"{number}.gguf"
        path.write_bytes(raw[:at] + bytes(b ^ 0x55 for b in raw[at : at + 10]) + raw[at + 10 :])
        with contextlib.suppress(ModelProblem):
            model = open_gguf(str(path), FAST)
            with contextlib.closing(model):
                model.complete(prompt(max_tokens=3))


SCRIPT = """
import signal, sys, threading
from pytest_brt.model.base import *
from pytest_brt.model.engine import open_file

# Processes in the background of a script start with it ignored.
signal.signal(signal.SIGINT, signal.default_int_handler)
model = open_file({path!r}, Settings(threads=1, context=4096, engine='inprocess'))
text = "word " * {words}
model.count("x")
try:
    print(model.pid, flush=True)
    model.complete(Prompt(messages=(Message(role=Role.USER, text=text),), samples={samples},
                          sampling=Sampling(max_tokens={tokens})))
except KeyboardInterrupt:
    model.close()
    print("interrupted", flush=True)
"""


def start_script(path: Path, *, words: int, samples: int, tokens: int) -> subprocess.Popen[str]:
    code = SCRIPT.format(path=str(path), words=words, samples=samples, tokens=tokens)
    return subprocess.Popen(
        [sys.executable, "-c", code],
        stdout=subprocess.PIPE,
        text=True,
        cwd=Path.cwd(),
        encoding="utf-8",
    )


@pytest.mark.parametrize(("words", "samples", "tokens"), [(600, 1, 20), (5, 16, 3000)])
def test_ctrl_c_stops_at_once(slow: Path, words: int, samples: int, tokens: int) -> None:
    with start_script(slow, words=words, samples=samples, tokens=tokens) as process:
        assert process.stdout is not None
        worker = int(process.stdout.readline())
        time.sleep(0.5)
        start = time.monotonic()
        process.send_signal(signal.SIGINT)
        assert process.stdout.readline() == "interrupted\n"
        assert time.monotonic() - start < 20
        assert gone(worker)


def test_a_killed_parent_takes_the_worker_with_it(slow: Path) -> None:
    with start_script(slow, words=5, samples=16, tokens=3000) as process:
        assert process.stdout is not None
        worker = int(process.stdout.readline())
        process.kill()
        process.wait()
    end = time.monotonic() + 20
    while not gone(worker) and time.monotonic() < end:
        time.sleep(0.02)
    assert gone(worker)


def test_leaving_without_closing_is_clean(weights: Path) -> None:
    code = (
        "from pytest_brt.model.base import *; from pytest_brt.model.engine import open_file\n"
        f"m = open_file({str(weights / 'llama.gguf')!r}, Settings(threads=1, engine='inprocess'))\n"
        "m.count('x'); print(m.pid)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
        encoding="utf-8",
    )
    assert done.stderr == ""
    end = time.monotonic() + 20
    while not gone(int(done.stdout)) and time.monotonic() < end:
        time.sleep(0.02)
    assert gone(int(done.stdout))


@pytest.mark.slow
def test_kills_at_random_points(weights: Path) -> None:
    model = open_gguf(str(weights / "llama.gguf"), FAST)
    chance = random.Random(11)
    pids = set()
    answered = 0
    want = [done.text for done in model.complete(prompt(samples=4, max_tokens=60))]
    times = rounds(100)
    for _ in range(times):
        pid = model.pid
        pids.add(pid)
        timer = threading.Timer(chance.random() * 0.25, kill, (pid,))
        timer.start()
        for _ in range(3):
            with contextlib.suppress(ModelProblem):
                got = model.complete(prompt(samples=4, max_tokens=60))
                assert [done.text for done in got] == want
                answered += 1
        timer.join()
    model.close()
    assert answered > 2 * times
    assert all(gone(pid) for pid in pids if pid)


def test_answers_are_kept_for_the_same_file_and_settings(weights: Path, tmp_path: Path) -> None:
    question = prompt(samples=3, max_tokens=200, grammar=Grammar(gbnf='root ::= "x" [a-z]{9}'))
    texts = []
    starts = []
    for how in (FAST, FAST, replace(FAST, thinking=9, context=2048)):
        model = open_gguf(str(weights / "llama.gguf"), how)
        kept = KeptAnswers(model, tmp_path / "answers")
        texts.append([answer.text for answer in kept.complete(question)])
        starts.append(model.process is not None)
        model.close()
    assert texts[0] == texts[1] == texts[2]
    assert starts == [True, False, False]
    other = KeptAnswers(open_gguf(str(weights / "other.gguf"), FAST), tmp_path / "answers")
    assert [answer.text for answer in other.complete(question)] != texts[0]
    other.close()
