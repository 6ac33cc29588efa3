from __future__ import annotations

import shutil
import tomllib
from datetime import timedelta
from pathlib import Path

import pytest

from pytest_brt.errors import ModelProblem, UsageProblem
from pytest_brt.model import catalogue
from pytest_brt.model.base import Message, Prompt, Role, Sampling, Settings
from pytest_brt.model.llama_server import find_server
from pytest_brt.model.opening import default_model, open_model, open_models
from tests.support.llama import INSTALLED, needs_llama

ASK = Prompt(messages=(Message(role=Role.USER, text="hi"),), sampling=Sampling(max_tokens=3))


@pytest.fixture
def folder(weights: Path, tmp_path: Path) -> Path:
    """A model folder with two models in it."""
    place = tmp_path / "models"
    catalogue.add_model(weights / "llama.gguf", place, link=False)
    catalogue.add_model(weights / "other.gguf", place, link=True)
    return place


def settings(folder: Path) -> Settings:
    return Settings(models_dir=str(folder), threads=1)


@needs_llama
@pytest.mark.parametrize("name", ["llama", "llama.gguf", "LLA", "{folder}/llama.gguf"])
def test_a_model_by_name_or_path(folder: Path, name: str) -> None:
    model = open_model(f"gguf:{name.format(folder=folder)}", settings(folder))
    assert model.name == "llama.gguf"
    model.close()


@needs_llama
def test_a_bare_path_will_do(folder: Path) -> None:
    model = open_model(str(folder / "other.gguf"), settings(folder))
    assert model.complete(ASK)[0].tokens
    model.close()


@needs_llama
def test_unknown_and_ambiguous_names(folder: Path) -> None:
    with pytest.raises(ModelProblem, match=r"no model is called 'gemma'.*llama, other"):
        open_model("gguf:gemma", settings(folder))
    shutil.copy(folder / "llama.gguf", folder / "llama-2.gguf")
    with pytest.raises(ModelProblem, match=r"more than one model is called 'll'.*llama-2, llama "):
        open_model("gguf:ll", settings(folder))
    assert open_model("gguf:llama", settings(folder)).name == "llama.gguf"


@pytest.mark.parametrize("spec", ["", "gguf:", "nonsense", "gpt:4", "a:b:c"])
def test_what_is_no_spec(spec: str, folder: Path) -> None:
    with pytest.raises(UsageProblem) as caught:
        open_model(spec, settings(folder))
    assert "\n" not in str(caught.value)


def test_an_unknown_scheme_is_answered_with_the_known_ones(folder: Path) -> None:
    with pytest.raises(UsageProblem, match=r"gguf:…, server:…, ollama:…, lmstudio:…, llama:…, scr"):
        open_model("gpt:4", settings(folder))


def test_no_model_says_how_to_choose_one(folder: Path) -> None:
    model = open_model("none", settings(folder))
    with pytest.raises(ModelProblem, match="--brt-model"):
        model.complete(ASK)
    with pytest.raises(ModelProblem, match="--brt-model"):
        model.count("a")
    model.close()


def test_the_only_model_is_the_default(folder: Path, tmp_path: Path) -> None:
    spec, remark = default_model(str(folder))
    assert spec == "none"
    assert remark == (
        "no model: llama, other are there (--brt-model gguf:NAME takes one, "
        "PYTEST_BRT_MODEL=gguf:NAME takes it for good)"
        if INSTALLED or find_server()
        else f"no model: {str(folder)!r} has one, and nothing to run it is installed"
    )
    (folder / "other.gguf").unlink()
    spec, remark = default_model(str(folder))
    runs = INSTALLED or bool(find_server())
    assert spec == (f"gguf:{folder / 'llama.gguf'}" if runs else "none")
    assert bool(remark) is not runs
    assert default_model(str(tmp_path / "missing")) == ("none", "")


@needs_llama
def test_one_model_for_both_tasks_or_two(folder: Path) -> None:
    first, second = open_models("gguf:llama", "", settings(folder))
    assert first is second
    first, second = open_models("gguf:llama", "gguf:other", settings(folder))
    assert (first.name, second.name) == ("llama.gguf", "other.gguf")
    with pytest.raises(ModelProblem, match="no model"):
        open_models("gguf:llama", "gguf:nothing", settings(folder))


# -- the folder ---------------------------------------------------------------------------------


def test_adding_twice_or_something_else(folder: Path, weights: Path, tmp_path: Path) -> None:
    with pytest.raises(ModelProblem, match="of that name already"):
        catalogue.add_model(weights / "llama.gguf", folder, link=False)
    (tmp_path / "x.gguf").write_text("text", encoding="utf-8")
    with pytest.raises(ModelProblem, match="not a GGUF"):
        catalogue.add_model(tmp_path / "x.gguf", folder, link=False)
    assert not (folder / "x.gguf").exists()


def test_the_folder_comes_from_option_environment_or_user(tmp_path: Path) -> None:
    assert catalogue.models_folder(str(tmp_path)) == tmp_path
    assert catalogue.models_folder("", {"PYTEST_BRT_MODELS": "/x"}) == Path("/x")
    assert catalogue.models_folder("", {}).name == "models"


GIGABYTES = {"GB": 1.0, "GiB": 1.073741824}
TIERS = {"cpu-8gb", "cpu-16gb", "cpu-32gb", "gpu-8gb", "gpu-12gb", "gpu-24gb"}


def test_a_row_of_the_catalogue_is_old_after_a_year_and_fits_or_not() -> None:
    row = next(row for row in catalogue.read_catalogue() if row.name == "Qwen3.5-4B")
    assert row.gigabytes == 2.74
    assert not row.is_old(row.checked + timedelta(days=365))
    assert row.is_old(row.checked + timedelta(days=366))
    assert not row.fits(4_000_000_000)
    assert row.fits(4_300_000_000)


def test_the_catalogue_states_its_sources() -> None:
    assert {entry.tier for entry in catalogue.read_catalogue()} == TIERS
    for entry in tomllib.loads(catalogue.catalogue_path().read_text("utf-8"))["model"]:
        assert entry["licence"]
        assert entry["context"] > 0
        assert entry["repository"].count("/") == 1, entry["name"]
        assert entry["file"].endswith(".gguf"), entry["name"]
        assert entry["sources"]
        number, unit = entry["size"].split()[:2]
        assert entry["gigabytes"] == pytest.approx(float(number) * GIGABYTES[unit], abs=0.01)
        assert all(source.startswith("https://") for source in entry["sources"])
