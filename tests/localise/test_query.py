"""What a report asks for, and how much each term of it weighs."""

from __future__ import annotations

from pytest_brt.localise.suspects import Source, query_of
from pytest_brt.report.load import read_issue


def weights(text: str) -> dict[str, float]:
    return dict(query_of(read_issue(text, "-")))


def test_a_term_weighs_what_its_best_place_says() -> None:
    found = weights(
        "# Wrong borders\n\nThe borders of tables are lost by `drawFrame`.\n\n"
        "```python\nimport tables\nmargin(2)\n```\n"
    )
    assert found["border"] == Source.TITLE.value
    assert found["drawfram"] == found["draw"] == Source.NAMED.value
    assert found["tabl"] == Source.CODE.value
    assert found["lost"] == Source.PROSE.value


def test_noise_is_left_out() -> None:
    found = weights(
        "Odd\n\n<!-- fill in the template -->\nSee https://example.org/wiki. It is a bug.\n\n"
        '```\n  File "/home/me/unrelated.py", line 3, in go_on\n```\n'
    )
    assert not {"template", "wiki", "bug", "unrelated"} & set(found)


def test_what_is_a_usual_word_in_a_sentence_is_a_name_in_code() -> None:
    code = "```python\nfrom shop import Any, Case\nAny(Case())\n```\n"
    assert {"any", "cas"} & set(weights("Odd\n\nIs there any case of that?\n")) == set()
    found = weights(f"Odd\n\nIs there any case of that?\n\n{code}")
    assert found["any"] == Source.CODE.value
