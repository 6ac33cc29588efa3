from __future__ import annotations

import os
import struct
from collections.abc import Iterator
from contextlib import closing

import pytest

from pytest_brt.execute import protocol
from pytest_brt.execute.protocol import Line, Reply, WorkerGone


@pytest.fixture
def line() -> Iterator[Line]:
    with closing(Line()) as found:
        yield found


def test_messages_are_put_together_and_taken_one_by_one(line: Line) -> None:
    assert line.take() is None
    for piece in (b'{"event": "ro', b'w_ready"}\n{"event": "cell_end", "status": 3}\n{"ev'):
        line.theirs.sendall(piece)
    assert line.take() == Reply(event="row_ready")
    assert line.take() == Reply(event="cell_end", status=3)
    assert line.take() is None
    assert not line.ended


def test_what_was_said_before_the_end_is_taken_first(line: Line) -> None:
    line.theirs.sendall(b'{"event": "row_end"}\n')
    line.theirs.close()
    assert line.take() == Reply(event="row_end")
    assert line.take() is None
    assert line.ended


@pytest.mark.parametrize("said", [b"odd\n", b"[" * 9_000 + b"\n"])
def test_what_is_no_message_ends_the_talk(line: Line, said: bytes) -> None:
    line.theirs.sendall(said)
    with pytest.raises(WorkerGone, match="understood"):
        line.take()


def test_a_message_without_end_ends_the_talk(line: Line, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(protocol, "MESSAGE_MOST", 999)
    line.theirs.sendall(b"x" * 1000)
    with pytest.raises(WorkerGone, match="more than can be kept"):
        line.take()


def test_a_descriptor_goes_along_with_a_message(line: Line) -> None:
    reader, writer = os.pipe()
    line.send({"op": "row"}, writer)
    os.close(writer)
    _, passed, _, _ = line.theirs.recvmsg(4096, 64)
    [(_, _, content)] = passed
    (received,) = struct.unpack("i", content)
    os.write(received, b"told")
    os.close(received)
    assert os.read(reader, 4096) == b"told"
    os.close(reader)


def test_a_closed_line_is_not_waited_for(line: Line) -> None:
    line.close()
    with pytest.raises(WorkerGone):
        line.fileno()
