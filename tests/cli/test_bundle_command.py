from __future__ import annotations

import argparse
import hashlib
import os
import subprocess
import sys
import venv
from pathlib import Path

import pytest

from pytest_brt.cli import bundle
from pytest_brt.errors import BrtError, UsageProblem
from tests import tiny


def call(*words: str) -> int:
    parser = argparse.ArgumentParser()
    bundle.set_up(parser)
    arguments = parser.parse_args([*words])
    return int(arguments.command(arguments) or 0)


def test_a_folder_with_something_in_it_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "mine").write_text("precious", encoding="utf-8")
    with pytest.raises(UsageProblem, match="not empty"):
        call(str(tmp_path), "--without-llama")
    assert [path.name for path in tmp_path.iterdir()] == ["mine"]


def test_llama_cpp_is_not_built_for_another_machine(tmp_path: Path) -> None:
    with pytest.raises(UsageProblem, match=r"cannot be built here for 'macosx_14_0_arm64'"):
        call(str(tmp_path / "out"), "--platform", "macosx_14_0_arm64")
    assert not (tmp_path / "out").exists()


@pytest.mark.slow
def test_a_registry_out_of_reach_is_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PIP_INDEX_URL", "http://127.0.0.1:9/simple")
    monkeypatch.setenv("PIP_EXTRA_INDEX_URL", "")
    monkeypatch.setenv("PIP_NO_INDEX", "0")
    monkeypatch.setenv("PIP_RETRIES", "0")
    monkeypatch.setenv("PIP_DEFAULT_TIMEOUT", "2")
    monkeypatch.setenv("PIP_NO_CACHE_DIR", "1")
    with pytest.raises(BrtError, match=r"pip (wheel|download) failed: .*registry") as caught:
        call(str(tmp_path / "out"), "--without-llama")
    assert "\n" not in str(caught.value)


@pytest.mark.skipif(sys.platform != "linux", reason="tags of Linux")
def test_wheels_of_older_systems_will_do() -> None:
    options = bundle.target_options("3.12", "manylinux_2_28_x86_64")
    for tag in ("manylinux_2_28", "manylinux_2_17", "manylinux2014", "linux"):
        assert f"{tag}_x86_64" in options
    assert "manylinux_2_29_x86_64" not in options
    assert "manylinux_2_17_aarch64" in bundle.target_options("3.12", "manylinux2014_aarch64")


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ((), "llama-cpp-python was built on "),
        (("--without-llama",), "llama-cpp-python is not in it: "),
        (("--llama-wheel", "there/llama_cpp_python-0.3.35-py3-none-any.whl"), "was not tried"),
    ],
)
def test_the_notes_say_what_models_would_run_with(
    given: tuple[str, ...], said: str, tmp_path: Path
) -> None:
    parser = argparse.ArgumentParser()
    bundle.set_up(parser)
    arguments = parser.parse_args([str(tmp_path), *given])
    assert said in bundle.about_llama(arguments)


@pytest.mark.slow
def test_installing_without_a_network(tmp_path: Path) -> None:
    """A wheel of llama-cpp-python, where PYTEST_BRT_LLAMA_WHEEL names one, is part of it."""
    model = tiny.write_llama(tmp_path / "tiny.gguf", quantised=True)
    out = tmp_path / "out"
    wheel = os.environ.get("PYTEST_BRT_LLAMA_WHEEL", "")
    llama = ["--llama-wheel", wheel] if wheel else ["--without-llama"]
    assert call(str(out), "--model", str(model), *llama) == 0
    for line in (out / "SHA256SUMS").read_text(encoding="utf-8").splitlines():
        digest, name = line.split("  ")
        assert hashlib.sha256((out / name).read_bytes()).hexdigest() == digest
    notes = (out / "INSTALL.md").read_text(encoding="utf-8")
    place = tmp_path / "brt"
    venv.create(place)
    (install,) = (line.strip() for line in notes.split("\n") if "pip install" in line)
    env = {
        **{k: v for k, v in os.environ.items() if not k.startswith(("PIP_", "PYTHON"))},
        "PIP_INDEX_URL": "http://127.0.0.1:9/simple",
        "PIP_CONFIG_FILE": os.devnull,
        "PYTEST_BRT_MODELS": str(out / "models"),
    }
    install = install.replace("brt/bin/pip", f"{sys.executable} -m pip --python {place}")
    subprocess.run(install, shell=True, cwd=out, env=env, check=True)
    subprocess.run([place / "bin" / "python", "-m", "pytest", "--version"], env=env, check=True)
    command = [str(place / "bin" / "pytest-brt"), "models"]
    done = subprocess.run(
        [*command, "list"], env=env, check=True, capture_output=True, text=True, encoding="utf-8"
    )
    assert "tiny: llama" in done.stdout
    if wheel:
        done = subprocess.run(
            [*command, "doctor"],
            env=env,
            check=False,
            capture_output=True,
            text=True,
            encoding="utf-8",
        )
        assert "ok    generation" in done.stdout, done.stdout
