"""Reports on a Django app, and reports that await at the prompt, as people write them.

Django, pytest-django and pytest-asyncio are the released ones, in an environment of their own.
"""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import pytest

from pytest_brt.sandbox.sandbox import open_sandbox
from pytest_brt.subject import find_subject
from tests.acceptance.django_site import APP, PACKAGES, PLACES, SETTING, made, reproduced
from tests.support.subjects import environment

pytestmark = pytest.mark.slow

DATABASE = """
    # total() ignores the quantity

    ```python
    >>> from cart.models import Item, total
    >>> Item.objects.create(price=2, quantity=3)
    <Item: Item object (1)>
    >>> total()
    2
    ```

    I expected `6`.
"""
VIEW = """
    # A list that is asked for with an empty "most" is a server error

    ```python
    >>> from django.test import Client
    >>> Client().get("/items/?most=")
    Traceback (most recent call last):
      File "cart/views.py", line 7, in listed
        most = int(request.GET.get("most", "10"))
    ValueError: invalid literal for int() with base 10: ''
    ```
"""
QUEUE = {
    "box/__init__.py": """
        import asyncio


        class Box:
            def __init__(self):
                self.items = []

            async def put(self, item):
                await asyncio.sleep(0)
                self.items.append(item)

            async def take(self):
                await asyncio.sleep(0)
                return self.items.pop()
    """
}
AWAITING = """
    # Box.take() gives the newest item

    In `python -m asyncio`:

    ```python
    >>> from box import Box
    >>> box = Box()
    >>> await box.put(1)
    >>> await box.put(2)
    >>> await box.take()
    2
    ```

    Expected `1`, which was put in first.
"""


@pytest.fixture(scope="module")
def python() -> str:
    return str(environment("3.11", *PACKAGES))


@pytest.mark.parametrize("place", PLACES)
def test_settings_are_found_where_pytest_django_finds_them(
    tmp_path: Path, python: str, place: str
) -> None:
    name, text, env = PLACES[place]
    root = made(tmp_path / "shop", {**APP, name: text})
    subject = find_subject(root, python=python, env=env, sandbox=open_sandbox("auto"))
    assert ("DJANGO_SETTINGS_MODULE", "shop.settings") in subject.env
    assert ("-p", "django") in pairwise(subject.pytest_args)


def test_without_settings_nothing_is_a_bug_test(tmp_path: Path, python: str) -> None:
    root = made(tmp_path / "shop", APP)
    with pytest.raises(AssertionError, match="Not reproduced"):
        reproduced(root, SETTING, "--brt-python", python)


def test_what_needs_the_database_gets_the_mark_and_the_rows(tmp_path: Path, python: str) -> None:
    name, text, _ = PLACES["key"]
    root = made(tmp_path / "shop", {**APP, name: text})
    source = reproduced(root, DATABASE, "--brt-python", python)
    head, _, body = source.partition("def test_")
    assert head.endswith("@pytest.mark.django_db\n")
    assert body.endswith(
        "    Item.objects.create(price=2, quantity=3)\n    assert total() == 6\n"
    ), source


def test_what_does_not_come_to_the_database_here_gets_the_mark(tmp_path: Path, python: str) -> None:
    name, text, _ = PLACES["key"]
    root = made(tmp_path / "shop", {**APP, name: text})
    source = reproduced(root, VIEW, "--brt-python", python)
    head, _, _ = source.partition("def test_")
    assert head.endswith("@pytest.mark.django_db\n"), source


def test_await_is_tested_with_the_plugin_of_the_project(tmp_path: Path, python: str) -> None:
    root = made(tmp_path / "box", QUEUE)
    source = reproduced(root, AWAITING, "--brt-python", python)
    assert "@pytest.mark.asyncio\nasync def test_" in source
    assert source.endswith("    assert await box.take() == 1\n")


def test_await_is_tested_without_any_plugin(tmp_path: Path) -> None:
    root, python = made(tmp_path / "box", QUEUE), str(environment("3.11", "pytest==8.4.2"))
    source = reproduced(root, AWAITING, "--brt-python", python)
    assert "\n    async def scenario():\n        box = Box()\n" in source
    assert source.endswith("        assert await box.take() == 1\n\n    asyncio.run(scenario())\n")
