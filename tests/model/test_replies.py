from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from pytest_brt.errors import StoreProblem
from pytest_brt.model.replies import Replies
from tests.model.serve import ask, completion, open_model, serving


def test_nothing_is_asked_twice(tmp_path: Path) -> None:
    file = tmp_path / "replies.jsonl"
    asked: list[dict[str, Any]] = []

    def answer(request: dict[str, Any]) -> tuple[int, object]:
        asked.append(request)
        seeds = range(request["seed"], request["seed"] + request.get("n", 1))
        return completion(*(f"reply {seed}" for seed in seeds))

    with serving(answer) as url:
        first = open_model(url, replies=Replies(file)).complete(ask("hello", n=2))
        model = open_model(url, replies=Replies(file))
        again = model.complete(ask("hello", n=3))
    assert [reply.text for reply in again] == ["reply 0", "reply 1", "reply 2"]
    assert again[:2] == first
    assert [request.get("n", 1) for request in asked] == [2, 1]
    assert model.usage.cost.calls == 1


def test_where_a_project_lies_changes_no_key(tmp_path: Path) -> None:
    here, there = Path("/home/here/project"), Path("/srv/there/project")
    one = Replies(None, here).key("m", ask(f"File {here}/a.py"), 0)
    assert one == Replies(None, there).key("m", ask(f"File {there}/a.py"), 0)
    assert one != Replies(None, here).key("m", ask(f"File {here}/b.py"), 0)
    assert one != Replies(None, here).key("m", ask(f"File {here}/a.py"), 1)


def test_a_line_that_was_cut_off_is_asked_for_again(tmp_path: Path) -> None:
    file = tmp_path / "replies.jsonl"
    with serving(lambda _: completion("yes")) as url:
        open_model(url, replies=Replies(file)).text(ask("hello"))
        whole = file.read_text("utf-8")
        file.write_text(f"{whole}{whole[:40]}", "utf-8")
        assert open_model(url, replies=Replies(file)).text(ask("hello")) == "yes"
    file.write_text(2 * f"{whole[:40]}\n", "utf-8")
    with pytest.raises(StoreProblem, match=r"no line of .* can be read"):
        Replies(file)
