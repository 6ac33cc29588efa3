"""Reports on a web application, an asyncio library and tests in Django's own style.

FastAPI, httpx, Django and the plugins are the released ones, in environments of their own.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from textwrap import dedent
from typing import Any

import pytest

from tests.acceptance.django_site import (
    APP,
    PACKAGES,
    PLACES,
    REPRODUCED,
    SETTING,
    made,
    reproduced,
    sources,
)
from tests.support.interval import diff_of
from tests.support.reports import patches_of, read_report
from tests.support.subjects import environment

pytestmark = [pytest.mark.slow, pytest.mark.long]

WEB = {
    "shop/__init__.py": "",
    "shop/main.py": """
        from fastapi import FastAPI

        app = FastAPI()
        PRICES = {1: 3, 2: 9}


        @app.get("/total")
        async def total(numbers: str):
            return {"total": sum(PRICES[int(number)] for number in set(numbers.split(",")))}
    """,
    "tests/test_total.py": """
        from fastapi.testclient import TestClient

        from shop.main import app


        def test_total():
            assert TestClient(app).get("/total?numbers=1,2").json() == {"total": 12}
    """,
}
TOTAL = """
    # GET /total counts an item once, however often it is asked for

    ```python
    from fastapi.testclient import TestClient
    from shop.main import app

    client = TestClient(app)
    client.get("/total", params={"numbers": "1,1"}).json()
    ```

    This gives `{"total": 3}`, but two cups cost 6: I expected `{"total": 6}`.
"""
RELAY = {
    "pyproject.toml": """
        [tool.pytest.ini_options]
        asyncio_mode = "auto"
    """,
    "relay/__init__.py": """
        import asyncio


        class Relay:
            def __init__(self, size=2):
                self.size = size
                self.listeners = []

            def listen(self):
                self.listeners.append(asyncio.Queue(self.size))
                return self.listeners[-1]

            async def send(self, item):
                for queue in self.listeners:
                    if not queue.full():
                        await queue.put(item)
                return len(self.listeners)

            async def __aenter__(self):
                return self

            async def __aexit__(self, *exc):
                self.listeners.clear()
    """,
    "tests/test_relay.py": """
        import pytest

        from relay import Relay


        @pytest.fixture
        async def relay():
            async with Relay() as relay:
                yield relay


        async def test_send(relay):
            queue = relay.listen()
            assert await relay.send(1) == 1
            assert await queue.get() == 1
    """,
}
SENT = """
    # send() counts listeners that are full

    ```python
    >>> from relay import Relay
    >>> async with Relay(size=1) as relay:
    ...     queue = relay.listen()
    ...     await relay.send("a")
    ...     sent = await relay.send("b")
    ...
    >>> sent
    1
    ```

    I expected `0`.
"""
#: Fixes of `send`: what it returns.
FIXES = {"counts-room": "sum(not queue.full() for queue in self.listeners)", "breaks": "0"}
DJANGO_STYLE = {
    **APP,
    "pytest.ini": PLACES["key"][1],
    "cart/tests.py": """
        from django.test import TestCase

        from cart.models import Item, shipping, total


        class CartTest(TestCase):
            def setUp(self):
                Item.objects.create(price=2)

            def test_total_of_one(self):
                self.assertEqual(total(), 2)

            def test_small_orders_pay(self):
                self.assertEqual(shipping(total()), 5)
    """,
}


def ranked(root: Path, report: str) -> tuple[str, dict[str, dict[str, Any]]]:
    """Return the bug tests, and what is found of the patches beside `root`, by their names."""
    python = str(environment("3.11", *PACKAGES))
    issue, answer = root.parent / "report.md", root.parent / "answer.json"
    issue.write_text(dedent(report), encoding="utf-8")
    command = [sys.executable, "-m", "pytest_brt", "issue", str(issue), "--python", python]
    command += ["--rank", str(root.parent / "patches")]
    done = subprocess.run(
        [*command, f"--report={answer}"],
        cwd=root,
        capture_output=True,
        text=True,
        check=False,
        encoding="utf-8",
    )
    found = read_report(answer)
    assert found["issues"][0]["answer"]["status"] in REPRODUCED, done.stdout + done.stderr
    return sources(found), patches_of(found)


def write_patch(root: Path, name: str, path: str, before: str, after: str) -> None:
    """Write a patch beside `root` that replaces a line."""
    source = (root / path).read_text("utf-8")
    diff = diff_of(source.replace(before, after, 1), path, source)
    made(root.parent, {f"patches/{name}.diff": diff})


def test_a_route_of_fastapi(tmp_path: Path) -> None:
    packages = ("pytest==9.0.0", "fastapi==0.121.0", "httpx==0.28.1")
    python = str(environment("3.11", *packages))
    root = made(tmp_path / "shop", WEB)
    source = reproduced(root, TOTAL, "--brt-python", python)
    assert source.endswith(
        "    client = TestClient(app)\n"
        '    assert client.get("/total", params={"numbers": "1,1"}).json() == {"total": 6}\n'
    ), source


def test_an_asyncio_library_with_async_fixtures(tmp_path: Path) -> None:
    root = made(tmp_path / "relay", RELAY)
    for name, fix in FIXES.items():
        before = "return len(self.listeners)"
        write_patch(root, name, "relay/__init__.py", before, f"return {fix}")
    _, found = ranked(root, SENT)
    # The one that only returns 0 passes the bug test, and breaks the test with the async fixture.
    assert found["breaks.diff"]["existing"]["regressions"], found
    assert found["breaks.diff"]["passed"]


def test_code_that_reads_a_setting_and_existing_tests_as_in_django(tmp_path: Path) -> None:
    root = made(tmp_path / "shop", DJANGO_STYLE)
    before = "return 0 if amount > settings.FREE_FROM else 5"
    fixes = {"right": "return 0 if amount >= settings.FREE_FROM else 5", "breaks": "return 0"}
    for name, after in fixes.items():
        write_patch(root, name, "cart/models.py", before, after)
    source, found = ranked(root, SETTING)
    assert "assert shipping(50) == 0" in source
    assert found["right.diff"]["place"] == [1, 1]
    assert found["right.diff"]["existing"]["regressions"] == []
    broken = found["breaks.diff"]["existing"]["regressions"]
    assert [item["test"] for item in broken] == ["cart/tests.py::CartTest::test_small_orders_pay"]
