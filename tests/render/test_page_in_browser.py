"""The page in a real browser: light and dark, wide and narrow, nothing cut off, no errors."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from pytest_brt.types.refused import FileGone
from tests.render.pages import page_of, record
from tests.support.rows import broken, row

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
WIDTHS = {"wide": 1300, "narrow": 400}
SCHEMES = {"dark": 0, "light": 1}
MEASURE = (
    "<script>document.title = [document.documentElement.scrollWidth, innerWidth, "
    "getComputedStyle(document.body).backgroundColor].join('|')</script></body>"
)

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(CHROMIUM is None, reason="needs chromium (Debian's package)"),
]


@pytest.fixture(scope="module")
def page() -> str:
    name = "a-folder/with-a-name-that-does-not-end-" * 3
    return page_of(
        record(
            row("a.diff", "pp", guarded=broken(0)),
            row(name, "pf", guarded=broken(5)),
            row("c.diff", refused=FileGone(path="x" * 300)),
            title="A_title_without_a_place_to_break_it_" * 5,
            source="x = " + " + ".join(f"name_{n}" for n in range(90)) + "\n",
        )
    )


def browse(folder: Path, page: str, width: int, scheme: int, *options: str) -> tuple[str, str]:
    """Open the page and return what the browser prints, and what it logs."""
    path = folder / "page.html"
    path.write_text(page, encoding="utf-8")
    done = subprocess.run(
        [
            str(CHROMIUM), "--headless=new", "--no-sandbox", "--disable-gpu", "--hide-scrollbars",
            "--enable-logging=stderr", f"--user-data-dir={folder}/profile",
            f"--window-size={width},1200", f"--blink-settings=preferredColorScheme={scheme}",
            *options, path.as_uri(),
        ],
        capture_output=True, text=True, check=False, timeout=120, encoding="utf-8")  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout, done.stderr


@pytest.mark.parametrize(("scheme", "width"), list(zip(SCHEMES, WIDTHS, strict=True)))
def test_nothing_is_cut_off_and_colours_follow(
    page: str, tmp_path: Path, scheme: str, width: str
) -> None:
    measured = re.sub(r"<meta http-equiv[^>]*>", "", page).replace("</body>", MEASURE)
    out, _ = browse(tmp_path, measured, WIDTHS[width], SCHEMES[scheme], "--dump-dom")
    title = re.search(r"<title>(\d+)\|(\d+)\|rgb\((\d+)", out)
    assert title is not None, out[:500]
    content, window, red = map(int, title.groups())
    assert content <= window
    assert (red < 100) == (scheme == "dark")


def test_the_page_as_it_is_causes_no_message(page: str, tmp_path: Path) -> None:
    picture = tmp_path / "page.png"
    _, log = browse(tmp_path, page, 1300, 1, f"--screenshot={picture}")
    assert "CONSOLE" not in log
    assert picture.stat().st_size > 20_000
