"""Answers made to hold a client up: each ends in one clear line, in time, and in bounded memory."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from pytest_brt.errors import ModelProblem
from pytest_brt.model.base import ModelFailed
from pytest_brt.model.loopback import Loopback
from pytest_brt.types.model import Unreachable

OK = b"HTTP/1.1 200 OK\r\n"


def _endless(first: bytes, again: bytes, pause: float = 0.0) -> Iterator[bytes]:
    yield first
    while True:
        yield again
        time.sleep(pause)


MEGABYTE = b"x" * (1 << 20)
#: What a server answers, and what is said of it.
ANSWERS: dict[str, tuple[Callable[[], Iterator[bytes]], str]] = {
    "a body without end": (
        lambda: _endless(OK + b"\r\n", MEGABYTE), "it answers 200 .more than 32 MB"
    ),
    "chunks without end": (
        lambda: _endless(
            OK + b"Transfer-Encoding: chunked\r\n\r\n", b"100000\r\n" + MEGABYTE + b"\r\n"
        ),
        "it answers 200 .more than 32 MB",
    ),
    "an announced gigabyte": (
        lambda: _endless(OK + b"Content-Length: 1073741824\r\n\r\n", MEGABYTE),
        "it answers 200 .more than 32 MB",
    ),
    "a chunk of a negative length": (
        lambda: iter([OK + b"Transfer-Encoding: chunked\r\n\r\n-5\r\nabc\r\n"]), "http://"
    ),
    "a body that drips": (lambda: _endless(OK + b"\r\n", b"x", 0.05), "within"),
    "headers that drip": (lambda: _endless(OK, b"A: b\r\n", 0.05), "within"),
    "headers without end": (lambda: _endless(OK, b"A: b\r\n" * 1000), "more than 100 headers"),
    "a header without end": (lambda: _endless(OK + b"A: ", MEGABYTE), "65536 bytes"),
    "a status line without end": (lambda: _endless(b"HTTP/1.1 200 ", MEGABYTE), "65536 bytes"),
    "to be continued without end": (
        lambda: _endless(b"", b"HTTP/1.1 100 Continue\r\n\r\n", 0.01), "within"
    ),
    "no HTTP": (lambda: iter([b"SSH-2.0-OpenSSH_9.6\r\n\r\n"]), "SSH-2.0"),
}  # fmt: skip


class Raw:
    """A socket that says the same to everybody who asks, whatever it is asked."""

    def __init__(self, answer: Callable[[], Iterator[bytes]]) -> None:
        self.answer = answer
        self.asked = 0
        self.socket = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self.socket.getsockname()[1]}"
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self) -> None:
        with suppress(OSError):  # closed
            while True:
                threading.Thread(
                    target=self._say, args=(self.socket.accept()[0],), daemon=True
                ).start()

    def _say(self, there: socket.socket) -> None:
        with suppress(OSError), there:  # the client has gone
            there.recv(65536)
            self.asked += 1
            for part in self.answer():
                there.sendall(part)
            # To close with half of the question unread would reset the connection.
            there.shutdown(socket.SHUT_WR)
            while there.recv(65536):
                pass


@pytest.fixture
def served() -> Iterator[Callable[[Callable[[], Iterator[bytes]]], Raw]]:
    made: list[Raw] = []

    def serve(answer: Callable[[], Iterator[bytes]]) -> Raw:
        made.append(Raw(answer))
        return made[-1]

    yield serve
    for raw in made:
        raw.socket.close()


@pytest.mark.parametrize("name", ANSWERS)
def test_an_answer_that_would_hold_us_up_is_one_line(
    name: str, served: Callable[[Callable[[], Iterator[bytes]]], Raw]
) -> None:
    answer, message = ANSWERS[name]
    raw = served(answer)
    # What ends by its size does so in time on a busy machine, too.
    seconds = 3.0 if message == "within" else 60.0
    start = time.monotonic()
    with pytest.raises(ModelProblem, match=message) as caught:
        Loopback(raw.url).ask("/v1/models", seconds)
    assert time.monotonic() - start < seconds + 30
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 600


def test_a_redirect_is_not_followed(
    served: Callable[[Callable[[], Iterator[bytes]]], Raw],
) -> None:
    elsewhere = served(lambda: iter([OK + b"\r\n{}"]))
    moved = f"HTTP/1.1 307 Moved\r\nLocation: {elsewhere.url}/\r\n\r\n".encode()
    response = Loopback(served(lambda: iter([moved])).url).ask("/v1/chat/completions", 5.0, {})
    assert response.status == 307
    assert elsewhere.asked == 0


def test_nobody_there_is_no_matter_of_time(tmp_path: Path) -> None:
    with socket.socket() as deaf:
        deaf.bind(("127.0.0.1", 0))  # nobody listens, and nobody else can take the port
        for url in (f"http://127.0.0.1:{deaf.getsockname()[1]}", f"unix://{tmp_path}/none"):
            with pytest.raises(ModelFailed) as caught:
                Loopback(url).ask("/v1/models", 0.001)
            assert isinstance(caught.value.fault, Unreachable)


def test_an_odd_time_to_wait_and_a_page_are_only_an_answer(
    served: Callable[[Callable[[], Iterator[bytes]]], Raw],
) -> None:
    odd = b"HTTP/1.1 429 No\r\nRetry-After: \xb2\r\n\r\n<html>Sign in</html>"
    response = Loopback(served(lambda: iter([odd])).url).ask("/v1/models", 5.0)
    assert (response.status, response.wait, response.body) == (429, 0.0, None)
    assert response.text == "<html>Sign in</html>"
