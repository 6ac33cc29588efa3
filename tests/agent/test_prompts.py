"""Prompts: found, filled, replaced by the user's, and refused where they cannot be used."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_brt.agent.prompts import BUILT_IN, Prompts, fenced, read_wording
from pytest_brt.errors import UsageProblem
from pytest_brt.model.base import Role


def put(folder: Path, name: str, text: str) -> Path:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return folder


def test_values_are_put_in_as_they_are() -> None:
    text = Prompts().render("shared/report", title="{{ 1 + 1 }} <b>", report="{% raw %} & x")
    assert text == "# {{ 1 + 1 }} <b>\n\n{% raw %} & x"


def test_a_missing_value_is_an_error_that_names_the_file() -> None:
    with pytest.raises(UsageProblem, match=r"shared/report\.j2.*'report' is undefined"):
        Prompts().render("shared/report", title="x")


def test_an_unknown_prompt_is_the_caller_s_mistake() -> None:
    with pytest.raises(KeyError, match="nothing"):
        Prompts().render("nothing")


def test_a_user_s_file_replaces_one_prompt_only(tmp_path: Path) -> None:
    prompts = Prompts(read_wording(put(tmp_path, "shared/report.j2", "Report: {{ title }}\n")))
    assert prompts.render("shared/report", title="t", report="r") == "Report: t"
    assert prompts.names == Prompts().names


def test_a_replacement_can_build_on_what_it_replaces(tmp_path: Path) -> None:
    text = 'Be brief.\n{% include "built-in/shared/report.j2" %}'
    prompts = Prompts(read_wording(put(tmp_path, "shared/report.j2", text)))
    assert prompts.render("shared/report", title="t", report="r") == "Be brief.\n# t\n\nr"


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("libor/user.j2", "x", r"'libor/user\.j2' replaces no prompt \(known: .*shared/report"),
        ("shared/report.j2", "a\n{{ x", r"'shared/report\.j2', line 2: "),
        ("shared/report.j2", "a\n{% if %}", r"'shared/report\.j2', line 2: "),
        ("shared/report.j2", "\udcff", "cannot read 'shared/report.j2'"),
    ],
)
def test_a_bad_folder_is_refused_before_anything_runs(
    tmp_path: Path, name: str, text: str, said: str
) -> None:
    (tmp_path / name).parent.mkdir(parents=True)
    (tmp_path / name).write_bytes(text.encode("utf-8", "surrogateescape"))
    with pytest.raises(UsageProblem, match=said):
        Prompts(read_wording(tmp_path))


def test_a_missing_folder_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageProblem, match="no such folder"):
        read_wording(tmp_path / "none")


@pytest.mark.parametrize(
    "text",
    [
        "{{ title.nothing }}",
        "{{ 1 / 0 }}",
        "{{ title + 1 }}",
        '{% include "other.j2" %}',
        "{{ title.__class__.__mro__ }}",
        "{{ title[99] }}",
        "{{ range(10**9) | list }}",
    ],
)
def test_a_prompt_that_fails_says_which(tmp_path: Path, text: str) -> None:
    prompts = Prompts(read_wording(put(tmp_path, "shared/report.j2", text)))
    with pytest.raises(UsageProblem, match=r"--brt-prompts: 'shared/report\.j2'"):
        prompts.render("shared/report", title="t", report="r")


def test_asking_gives_the_messages_in_order() -> None:
    message = Prompts().message(Role.USER, "shared/report", title="t", report="r")
    assert (message.role, message.text) == (Role.USER, "# t\n\nr")


def test_examples_are_turns_of_the_conversation(tmp_path: Path) -> None:
    text = "a note\n=== user\n{{ asked }}\n\n=== assistant\n=== no\n=== user\nq\n"
    prompts = Prompts(read_wording(put(tmp_path, "libro/examples.j2", text)))
    found = [(turn.role, turn.text) for turn in prompts.turns("libro/examples", asked="1\n2")]
    assert found == [(Role.USER, "1\n2"), (Role.ASSISTANT, "=== no"), (Role.USER, "q")]
    roles = [turn.role for turn in Prompts().turns("agent/examples")]
    assert roles == [Role.USER, Role.ASSISTANT] * (len(roles) // 2)


def test_every_prompt_of_ours_is_a_jinja2_file() -> None:
    prompts = Prompts(read_wording(BUILT_IN))
    assert "shared/report" in prompts.names


def test_many_threads_render_the_same() -> None:
    prompts, seen = Prompts(), set()

    def work() -> None:
        for number in range(50):
            text = prompts.render("shared/report", title=str(number), report="r")
            seen.add(text == f"# {number}\n\nr")

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert seen == {True}


@given(st.text(alphabet="`~ a\n", max_size=40))
def test_a_fence_is_closed_only_by_its_own(code: str) -> None:
    lines = fenced(code, "python").split("\n")
    fence = lines[-1]
    assert lines[0] == f"{fence}python"
    assert not [line for line in lines[1:-1] if line.strip().startswith(fence)]
