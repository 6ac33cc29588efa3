"""HTTP to this machine and nowhere else: no proxies, no redirects, no other host."""

from __future__ import annotations

import http.client
import ipaddress
import json
import re
import socket
import threading
import time
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from pytest_brt.errors import ModelProblem
from pytest_brt.model.base import ModelFailed
from pytest_brt.types.model import Closed, ModelFault, Rejected, Rejection, TooLate, Unreachable

#: Bytes of a response that are read at most.
_MOST_BYTES = 32 << 20
#: Errors of a port, or a socket in the file system, at which nobody listens.
_NOBODY = (ConnectionRefusedError, FileNotFoundError)


@dataclass(frozen=True, slots=True, kw_only=True)
class Response:
    """What a server answered."""

    status: int
    #: The JSON value of the body; None when it is no JSON.
    body: Any
    #: The beginning of the body, for messages.
    text: str
    #: Seconds that it asks to wait, 0 when it does not.
    wait: float = 0.0


class _SocketConnection(http.client.HTTPConnection):
    """A connection to a socket in the file system, whose path stands for the host."""

    def connect(self) -> None:
        """Connect to the socket."""
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(self.timeout)
        self.sock.connect(self.host)


class Loopback:
    """A server on this machine, by its URL."""

    def __init__(self, url: str, headers: Mapping[str, str] | None = None) -> None:
        """Accept `url` when it leads to this machine: "http://127.0.0.1:80", "unix:///a/socket".

        Raises:
            ModelProblem: it is no http URL, or another machine's.
        """
        parts = urlsplit(url)
        self.headers = {"Content-Type": "application/json", **(headers or {})}
        self._live: set[socket.socket] = set()
        self._lock = threading.Lock()
        self._closed = False
        self._kind: type[http.client.HTTPConnection] = http.client.HTTPConnection
        self.port: int | None = None
        if parts.scheme == "unix":
            self._kind = _SocketConnection
            self.host, self.url, self.prefix = parts.path, url, ""
            return
        if parts.scheme != "http" or not parts.hostname:
            raise ModelProblem(
                f"not an http URL: {url!r} (as in --brt-model server:http://127.0.0.1:8080)"
            )
        try:
            self.port = parts.port or 80
        except ValueError as error:
            raise ModelProblem(f"no such port in {url!r}: {error}") from error
        self.host = _loopback_address(parts.hostname, url)
        self.url = f"http://{parts.netloc}"
        self.prefix = parts.path.rstrip("/").removesuffix("/chat/completions")

    def ask(self, path: str, seconds: float, body: Mapping[str, object] | None = None) -> Response:
        """GET `path`, or POST `body` to it as JSON; redirects are not followed.

        Raises:
            ModelFailed: Unreachable for no answer or half of one, TooLate where `seconds` were
                over before it was complete, Rejected for one without end, Closed by another thread.
        """
        end = time.monotonic() + seconds
        try:
            status, wait, raw = self._exchange(path, body, end)
        except (OSError, http.client.HTTPException, ValueError, AttributeError) as error:
            # ValueError and AttributeError: the socket was closed by another thread meanwhile.
            raise ModelFailed(self._fault_of(error, end, seconds)) from error
        if len(raw) > _MOST_BYTES:
            said = f"more than {_MOST_BYTES >> 20} MB"
            fault = Rejected(url=self.url, why=Rejection.FOREIGN, status=status, said=said)
            raise ModelFailed(fault)
        text = raw.decode("utf-8", "replace")
        try:
            value = json.loads(text)
        except (ValueError, RecursionError):
            value = None
        return Response(
            status=status,
            body=value,
            text=" ".join(text[:2000].split()),
            wait=float(wait) if re.fullmatch(r"[0-9]{1,6}", wait) else 0.0,
        )

    def _fault_of(self, error: Exception, end: float, seconds: float) -> ModelFault:
        """Return what an error of the exchange means."""
        if self._closed:
            return Closed()
        # Where nobody listens it is no matter of time, however little is left.
        if time.monotonic() >= end - 0.01 and not isinstance(error, _NOBODY):
            return TooLate(url=self.url, seconds=seconds)
        reason = error.strerror if isinstance(error, OSError) else " ".join(str(error).split())
        return Unreachable(url=self.url, reason=reason or type(error).__name__)

    def _exchange(
        self, path: str, body: Mapping[str, object] | None, end: float
    ) -> tuple[int, str, bytes]:
        """Return the status, the header Retry-After and the body of an answer."""
        method, data = ("GET", None) if body is None else ("POST", json.dumps(body).encode())
        seconds = max(end - time.monotonic(), 0.001)
        connection = self._kind(self.host, self.port, timeout=seconds)
        taken: list[socket.socket] = []
        # A server that drips would outlast a timeout that counts between two bytes.
        alarm = threading.Timer(seconds, _cut, (taken,))
        alarm.daemon = True
        alarm.start()
        try:
            connection.connect()
            # The connection forgets its socket where the answer's end is that of the connection.
            taken.append(connection.sock)
            with self._lock:
                self._live.update(taken)
            if self._closed or time.monotonic() >= end:  # meanwhile
                _cut(taken)
            connection.request(method, path, data, self.headers)
            with connection.getresponse() as response:
                raw = response.read(_MOST_BYTES + 1)
            # read(n) is silent about a body that ends early, or that the alarm has cut
            if (response.length and len(raw) <= _MOST_BYTES) or time.monotonic() >= end:
                raise http.client.IncompleteRead(raw, response.length)
            return response.status, response.headers.get("Retry-After", ""), raw
        finally:
            alarm.cancel()
            with self._lock:
                self._live.difference_update(taken)
            connection.close()

    def close(self) -> None:
        """Cut every connection; requests under way end in ModelProblem."""
        with self._lock:
            self._closed = True
            live = list(self._live)
        _cut(live)


def _cut(sockets: Iterable[socket.socket]) -> None:
    for sock in sockets:
        with suppress(OSError):
            sock.shutdown(socket.SHUT_RDWR)


def _loopback_address(host: str, url: str) -> str:
    """Return the numeric loopback address of `host`; names other than localhost are not asked."""
    refusal = ModelProblem(
        f"{url!r} is not on this machine, and nothing is ever sent elsewhere "
        "(use http://127.0.0.1:PORT; for another machine, forward its port: ssh -L)"
    )
    if host == "localhost":
        return "127.0.0.1"
    try:
        numeric = ipaddress.ip_address(host)
    except ValueError:
        raise refusal from None
    mapped = getattr(numeric, "ipv4_mapped", None)
    if not (mapped or numeric).is_loopback:
        raise refusal
    return host
