"""Speaks HTTP to one address on this machine: no proxies, no redirects, no endless answers."""

from __future__ import annotations

import http.client
import ipaddress
import json
import socket
import threading
from collections.abc import Mapping
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


class Loopback:
    """An address on this machine; safe to use from many threads."""

    def __init__(self, url: str, key: str = "") -> None:
        """Take an address such as "http://127.0.0.1:8080/v1"; connects when first asked.

        Raises:
            ModelProblem: it is not on this machine.
        """
        parts = urlsplit(url)
        host = "127.0.0.1" if parts.hostname == "localhost" else parts.hostname or ""
        try:
            is_here = parts.scheme == "http" and ipaddress.ip_address(host).is_loopback
            self.port = parts.port or 80
        except ValueError:
            is_here = False
        if not is_here:
            raise ModelProblem(
                f"--brt-model: {url!r} is not an http address of this machine (reach another one "
                "through a forwarded port: ssh -L 8080:localhost:8080 HOST)"
            )
        self.host = host
        self.path = parts.path.rstrip("/") or "/v1"
        self.url = f"http://{parts.hostname}:{self.port}"
        self.key = key
        self._open: set[http.client.HTTPConnection] = set()
        self._lock = threading.Lock()
        self._is_closed = False

    def ask(self, path: str, seconds: float, body: Mapping[str, object] | None = None) -> Response:
        """Return the answer to a GET, or with a `body` to a POST.

        Raises:
            OutOfTime: there was none within so many seconds.
            Unreachable: nobody answers.
        """
        connection = http.client.HTTPConnection(self.host, self.port, timeout=max(0.1, seconds))
        headers = {"Content-Type": "application/json"}
        if self.key:
            headers["Authorization"] = f"Bearer {self.key}"
        with self._lock:
            if self._is_closed:
                raise Unreachable(f"{self.url}: the connection is closed")
            self._open.add(connection)
        try:
            sent = None if body is None else json.dumps(body).encode()
            connection.request("GET" if body is None else "POST", path, sent, headers)
            answer = connection.getresponse()
            data = answer.read(_LONGEST)
            if answer.length:
                raise http.client.IncompleteRead(data, answer.length)
            text = data.decode("utf-8", "replace")
        except TimeoutError as error:
            raise OutOfTime(f"no answer from {self.url} within {seconds:.0f} s") from error
        except (OSError, http.client.HTTPException) as error:
            raise Unreachable(
                f"no answer from {self.url}: {error or type(error).__name__}"
            ) from error
        finally:
            connection.close()
            with self._lock:
                self._open.discard(connection)
        return Response(answer.status, text)

    def close(self) -> None:
        """Cut every connection, so that whoever waits for an answer goes on."""
        with self._lock:
            self._is_closed = True
            waiting = [one.sock for one in self._open if one.sock is not None]
        for one in waiting:
            try:
                one.shutdown(socket.SHUT_RDWR)
            except OSError:  # it was answered in this moment
                continue
