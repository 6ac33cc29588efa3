"""Speaks HTTP to one address on this machine: no proxies, no redirects, no endless answers."""

from __future__ import annotations

import http.client
import ipaddress
import json
import socket
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from pytest_brt.errors import ModelProblem, OutOfTime

#: Bytes of the longest answer.
_LONGEST = 32 << 20


class Unreachable(ModelProblem):
    """Nobody listens at an address, or the connection broke."""


@dataclass(frozen=True, slots=True)
class Response:
    """What a server answered."""

    status: int
    text: str

    @property
    def body(self) -> dict[str, Any]:
        """Its JSON object, {} where it has none."""
        try:
            body = json.loads(self.text)
        except ValueError:
            return {}
        return body if isinstance(body, dict) else {}

    def __str__(self) -> str:
        """Return how it begins, on one line."""
        return " ".join(self.text.split())[:200] or "nothing"


class Loopback:
    """An address on this machine; safe to use from many threads."""

    def __init__(self, url: str, key: str = "") -> None:
        """Take an address such as "http://127.0.0.1:8080/v1"; connects when first asked.

        Raises:
            ModelProblem: it is not on this machine.
        """
        try:
            parts = urlsplit(url)
            self.host = (parts.hostname or "").replace("localhost", "127.0.0.1")
            self.port = parts.port or 80
            is_here = parts.scheme == "http" and ipaddress.ip_address(self.host).is_loopback
        except ValueError:
            is_here = False
        if not is_here:
            raise ModelProblem(
                f"--brt-model: {url!r} is not an http address of this machine (reach another one "
                "through a forwarded port: ssh -L 8080:localhost:8080 HOST)"
            )
        self.path = parts.path.rstrip("/") or "/v1"
        self.url = f"http://{parts.hostname}:{self.port}"
        self._headers = {"Content-Type": "application/json", "Authorization": f"Bearer {key}"}
        self._open: set[http.client.HTTPConnection] = set()
        self._is_closed = False

    def ask(self, path: str, seconds: float, body: Mapping[str, object] | None = None) -> Response:
        """Return the answer to a GET, or with a `body` to a POST.

        Raises:
            OutOfTime: there was none within so many seconds.
            Unreachable: nobody answers.
        """
        connection = http.client.HTTPConnection(self.host, self.port, timeout=max(0.1, seconds))
        sent = None if body is None else json.dumps(body).encode()
        self._open.add(connection)
        try:
            if self._is_closed:
                raise ConnectionError("the connection is closed")
            connection.request("GET" if body is None else "POST", path, sent, self._headers)
            answer = connection.getresponse()
            data = answer.read(_LONGEST)
            if answer.length:
                raise http.client.IncompleteRead(data, answer.length)
        except TimeoutError as error:
            raise OutOfTime(f"no answer from {self.url!r} within {seconds:.0f} s") from error
        except (OSError, http.client.HTTPException) as error:
            reason = getattr(error, "strerror", "") or str(error) or type(error).__name__
            raise Unreachable(f"no answer from {self.url!r}: {reason}") from error
        finally:
            self._open.discard(connection)
            connection.close()
        return Response(answer.status, data.decode("utf-8", "replace"))

    def close(self) -> None:
        """Cut every connection, so that whoever waits for an answer goes on."""
        self._is_closed = True
        for connection in list(self._open):
            if connection.sock is not None:
                with suppress(OSError):  # it was answered in this moment
                    connection.sock.shutdown(socket.SHUT_RDWR)
