"""Reports on a Django app, and reports that await at the prompt, as people write them.

Django, pytest-django and pytest-asyncio are the released ones, in an environment of their own.
"""

from __future__ import annotations

import json
import subprocess
import sys
from itertools import pairwise
from pathlib import Path
from textwrap import dedent

import pytest

from pytest_brt.execute.subject import find_subject
from tests.conftest import tree_hash
from tests.execute.subjects import environment

pytestmark = pytest.mark.slow

APP = {
    "shop/__init__.py": "",
    "shop/settings.py": """
        SECRET_KEY = "x"
        INSTALLED_APPS = ["cart"]
        DATABASES = {"default": {"ENGINE": "django.db.backends.sqlite3", "NAME": "shop.sqlite3"}}
        DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"
        FREE_FROM = 50
    """,
    "cart/__init__.py": "",
    "cart/models.py": """
        from django.conf import settings
        from django.db import models


        class Item(models.Model):
            price = models.IntegerField()
            quantity = models.IntegerField(default=1)


        def total():
            return sum(item.price for item in Item.objects.all())


        def shipping(amount):
            return 0 if amount > settings.FREE_FROM else 5
    """,
    "cart/tests.py": """
        import pytest

        from cart.models import Item, total


        @pytest.mark.django_db
        def test_total_of_one():
            Item.objects.create(price=2)
            assert total() == 2
    """,
}
SETTING = """
    # An order at the limit pays for shipping

    ```python
    from cart.models import shipping
    shipping(50)
    ```

    This returns `5`, but an order of exactly 50 should be free: expected `0`.
"""
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
#: Where a project names its settings: the file that does, its text, our environment.
PLACES: dict[str, tuple[str, str, dict[str, str]]] = {
    "key": ("pytest.ini", "[pytest]\nDJANGO_SETTINGS_MODULE = shop.settings\n", {}),
    "pyproject": (
        "pyproject.toml",
        '[tool.pytest.ini_options]\nDJANGO_SETTINGS_MODULE = "shop.settings"\n',
        {},
    ),
    "setup.cfg": ("setup.cfg", "[tool:pytest]\nDJANGO_SETTINGS_MODULE = shop.settings\n", {}),
    "addopts": ("pytest.ini", "[pytest]\naddopts = --ds shop.settings\n", {}),
    "manage.py": (
        "manage.py",
        "import os\nos.environ.setdefault('DJANGO_SETTINGS_MODULE', 'shop.settings')\n",
        {},
    ),
    "option": ("README.md", "A shop.\n", {"DJANGO_SETTINGS_MODULE": "shop.settings"}),
}
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
PACKAGES = ("pytest==9.0.0", "django==5.2.8", "pytest-django==4.11.1", "pytest-asyncio==1.3.0")


@pytest.fixture(scope="module")
def python() -> str:
    return str(environment("3.11", *PACKAGES))


def reproduced(root: Path, report: str, *options: str) -> str:
    """Return the source of the best test that our plugin writes for `report`."""
    issue, answer = root.parent / "report.md", root.parent / "answer.json"
    issue.write_text(dedent(report), encoding="utf-8")
    before = tree_hash(root)
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", f"--brt-issue={issue}"]
    result = subprocess.run(
        [*command, f"--brt-report={answer}", "--brt-repeat=1", *options],
        cwd=root,
        capture_output=True,
        text=True,
        check=False,
        encoding="utf-8",
    )
    assert result.returncode == 0, result.stdout + result.stderr
    assert tree_hash(root) == before
    tests = json.loads(answer.read_text("utf-8"))["tests"]
    return str(next(test["source"] for test in tests if test["candidate"]))


def made(root: Path, files: dict[str, str]) -> Path:
    """Return `root` with `files` in it."""
    for path, text in files.items():
        file = root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(dedent(text).lstrip("\n"), encoding="utf-8")
    return root


@pytest.mark.parametrize("place", PLACES)
def test_settings_are_found_where_pytest_django_finds_them(
    tmp_path: Path, python: str, place: str
) -> None:
    name, text, env = PLACES[place]
    requires = {"requirements.txt": "django\npytest-django\n"}
    root = made(tmp_path / "shop", {**APP, **requires, name: text})
    subject = find_subject(root, python=python, env=env)
    assert ("DJANGO_SETTINGS_MODULE", "shop.settings") in subject.env
    assert ("-p", "django") in pairwise(subject.pytest_args)


def test_a_missing_pytest_django_is_named(tmp_path: Path) -> None:
    python = str(environment("3.11", "pytest==8.4.2"))
    name, text, _ = PLACES["manage.py"]
    root = made(tmp_path / "shop", {**APP, name: text})
    with pytest.raises(AssertionError, match="its tests need pytest-django for Django's settings"):
        reproduced(root, DATABASE, "--brt-python", python)


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


def test_await_is_tested_with_the_plugin_of_the_project(tmp_path: Path, python: str) -> None:
    root = made(tmp_path / "box", {**QUEUE, "requirements-test.txt": "pytest-asyncio\n"})
    source = reproduced(root, AWAITING, "--brt-python", python)
    assert "@pytest.mark.asyncio\nasync def test_" in source
    assert source.endswith("    assert await box.take() == 1\n")


def test_await_is_tested_without_any_plugin(tmp_path: Path, python: str) -> None:
    root = made(tmp_path / "box", QUEUE)
    source = reproduced(root, AWAITING, "--brt-python", python)
    assert "\n    async def scenario():\n        box = Box()\n" in source
    assert source.endswith("        assert await box.take() == 1\n\n    asyncio.run(scenario())\n")
