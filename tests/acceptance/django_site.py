"""A site made with Django."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from textwrap import dedent
from typing import Any

from tests.support.reports import read_report
from tests.support.trees import tree_hash

APP = {
    "shop/__init__.py": "",
    "shop/settings.py": """
        SECRET_KEY = "x"
        INSTALLED_APPS = ["cart"]
        DATABASES = {"default": {"ENGINE": "django.db.backends.sqlite3", "NAME": "shop.sqlite3"}}
        DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"
        FREE_FROM = 50
        ROOT_URLCONF = "shop.urls"
        ALLOWED_HOSTS = ["*"]
    """,
    "shop/urls.py": """
        from django.urls import path

        from cart.views import listed

        urlpatterns = [path("items/", listed)]
    """,
    "cart/views.py": """
        from django.http import HttpResponse

        from cart.models import Item


        def listed(request):
            most = int(request.GET.get("most", "10"))
            return HttpResponse(f"{Item.objects.count()} of {most}")
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
    "option": ("README.md", "A shop.\n", {"DJANGO_SETTINGS_MODULE": "shop.settings"}),
}


#: Answers where there is a bug test.
REPRODUCED = ("reproduced", "possible")
PACKAGES = ("pytest==9.0.0", "django==5.2.8", "pytest-django==4.11.1", "pytest-asyncio==1.3.0")


def reproduced(root: Path, report: str, *options: str) -> str:
    """Return the sources of the bug tests that our plugin writes for `report`, best first."""
    issue, answer = root.parent / "report.md", root.parent / "answer.json"
    issue.write_text(dedent(report), encoding="utf-8")
    before = tree_hash(root)
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", f"--brt-issue={issue}"]
    result = subprocess.run(
        [*command, f"--brt-report={answer}", *options],
        cwd=root,
        capture_output=True,
        text=True,
        check=False,
        encoding="utf-8",
    )
    assert tree_hash(root) == before
    found = read_report(answer)
    assert found["issues"][0]["answer"]["status"] in REPRODUCED, result.stdout + result.stderr
    return sources(found)


def sources(report: dict[str, Any]) -> str:
    """Return the sources of all bug tests in a report, best first."""
    return "\n".join(test["source"] for test in report["tests"] if test["candidate"])


def made(root: Path, files: dict[str, str]) -> Path:
    """Return `root` with `files` in it."""
    for path, text in files.items():
        file = root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(dedent(text).lstrip("\n"), encoding="utf-8")
    return root
