"""Every prompt of libro, invert and the judge as it is sent, for one small bug."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from pytest_brt.agent.prompts import Prompts
from pytest_brt.code.index import Index, open_index
from pytest_brt.issue.load import read_issue
from pytest_brt.model.base import Model, Prompt, Settings
from pytest_brt.model.scripted import ScriptedModel
from pytest_brt.reproduce.invert import plan_prompt, version_prompt
from pytest_brt.reproduce.libro.run import PromptForm, repair_prompt, sampling_prompt
from pytest_brt.reproduce.opinion import sentence_prompt, show_failure
from pytest_brt.reproduce.prompting.context import Hints, gather_hints
from pytest_brt.reproduce.prompting.fit import Brief, PromptTooLong
from pytest_brt.reproduce.prompting.transcript import Stance
from pytest_brt.types import Issue
from pytest_brt.types.attempt import Shortened
from tests.reproduce.examples import ISSUE, REPORT
from tests.reproduce.golden import check
from tests.reproduce.model_tests.judging import judged, run
from tests.support.trees import write_tree

FILES = {
    "pkg/__init__.py": "from pkg.core import double\n",
    "pkg/core.py": "def double(x):\n    return x + x + 1\n\n\ndef half(x):\n    return x / 2\n",
    "tests/test_core.py": (
        "from pkg.core import half\n\n\ndef test_half():\n    assert half(2) == 1\n"
    ),
}


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Index]:
    root = tmp_path_factory.mktemp("prompts")
    write_tree(root, FILES)
    with open_index(root) as opened:
        yield opened


@pytest.fixture(scope="module")
def hints(index: Index) -> Hints:
    found = gather_hints(ISSUE, index)
    session = (">>> from pkg import double", ">>> double(2)\n5")
    imports = ("from pkg import double", "from pkg.core import half")
    return replace(found, session=session, imports=imports)


def model_of(folder: Path, context: int = 0) -> Model:
    path = folder / "script.txt"
    path.write_text("=== always\nx", encoding="utf-8")
    return ScriptedModel(str(path), Settings(context=context))


def brief_of(hints: Hints, model: Model, issue: Issue = ISSUE) -> Brief:
    return Brief(issue=issue, hints=hints, prompts=Prompts(), model=model)


def samples(
    index: Index,
    hints: Hints,
    model: Model,
    form: PromptForm,
    *,
    facts: bool = False,
    issue: Issue = ISSUE,
) -> tuple[Prompt, tuple[Shortened, ...]]:
    return sampling_prompt(
        brief_of(hints, model, issue),
        index,
        form=form,
        samples=3,
        facts=facts,
    )


@pytest.mark.parametrize(
    ("name", "form", "facts"),
    [
        ("libro-examples", PromptForm.EXAMPLES, False),
        ("libro-files", PromptForm.FILES, False),
        ("libro-files-facts", PromptForm.FILES, True),
    ],
)
def test_libro(
    name: str, form: PromptForm, facts: bool, index: Index, hints: Hints, tmp_path: Path
) -> None:
    prompt, notes = samples(index, hints, model_of(tmp_path), form, facts=facts)
    check(name, prompt)
    assert notes == ()


def test_repair(tmp_path: Path) -> None:
    prompt = repair_prompt(
        "from pkg import doubled\n\n\ndef test_a():\n    assert doubled(2) == 4\n",
        "cannot be collected: ImportError: cannot import name 'doubled' from 'pkg'",
        ("'pkg' has no 'doubled' (is it 'double'?)",),
        brief_of(Hints(imports=("from pkg import double",)), model_of(tmp_path)),
    )
    check("libro-repair", prompt)


CODE = "from pkg import double\n\n\ndef test_a():\n    assert double(2) == 5\n"


def test_invert_asks_for_a_plan(index: Index, hints: Hints, tmp_path: Path) -> None:
    prompt = plan_prompt(brief_of(hints, model_of(tmp_path)), index, 1, ("call double(1)",))
    check("invert-plan", prompt)


@pytest.mark.parametrize(
    ("task", "texts", "problems"),
    [
        ("write", {"plan": "call double(2), which gives 5"}, ()),
        ("refine", {"code": CODE, "happened": "It cannot run."}, ("no 'x'",)),
        ("flip", {"code": CODE, "tried": CODE, "happened": "It passes."}, ()),
    ],
)
def test_invert_asks_for_a_test(
    task: str,
    texts: dict[str, str],
    problems: tuple[str, ...],
    index: Index,
    hints: Hints,
    tmp_path: Path,
) -> None:
    brief = brief_of(hints, model_of(tmp_path))
    check(f"invert-{task}", version_prompt(task, texts, brief, index, 1, problems=problems))


def test_invert_where_the_report_s_code_is_right(
    index: Index, hints: Hints, tmp_path: Path
) -> None:
    brief = brief_of(replace(hints, stance=Stance.RIGHT), model_of(tmp_path))
    texts = {"code": CODE, "tried": "", "happened": ""}
    plan = plan_prompt(brief, index, 1, ())
    flip = version_prompt("flip", texts, brief, index, 1, problems=())
    check("invert-plan-right", plan)
    check("invert-flip-right", flip)
    for prompt in (plan, flip):
        assert "goes wrong" in prompt.messages[-1].text


def test_judge(index: Index, hints: Hints, tmp_path: Path) -> None:
    brief = replace(brief_of(hints, model_of(tmp_path)), index=index)
    prompt, _ = sentence_prompt(judged(run()), brief)
    check("judge", prompt)
    assert prompt.grammar is not None
    text = prompt.messages[-1].text
    assert '"words_1": "words of the report, or none"' in text
    assert ">>> double(2)\n5" in text
    assert "def double(x):" in text


def test_the_line_in_which_values_differ_is_never_left_out() -> None:
    same = [f"  line {n}" for n in range(40)]
    failure = "\n".join(["assert 'a' == 'b'", *same, "- wanted", "+ got", *same, "KeyError: 'k'"])
    shown = show_failure(failure).split("\n")
    assert shown[0] == "assert 'a' == 'b'"
    assert shown[-1] == "KeyError: 'k'"
    assert {"- wanted", "+ got"} <= {*shown}
    assert [line for line in shown if "left out" in line] == [
        "[… 35 lines left out …]",
        "[… 35 lines left out …]",
    ]


def test_a_prompt_is_shortened_until_it_fits_and_says_so(
    index: Index, hints: Hints, tmp_path: Path
) -> None:
    more = "".join(f"\nIt is wrong for the number {n} as well.\n" for n in range(40))
    issue = read_issue(REPORT + more, "issue.md")
    last, seen = 10**9, set[Shortened]()
    for context in (3000, 1200, 1000, 700, 450):
        model = model_of(tmp_path, context)
        prompt, notes = samples(index, hints, model, PromptForm.FILES, facts=True, issue=issue)
        size = model.count(prompt)
        assert size + prompt.sampling.max_tokens < context
        assert size <= last
        assert "# double() adds one" in prompt.messages[-1].text
        assert len(notes) >= len(seen)
        last, seen = size, set(notes)
    assert Shortened(part="report", left_out=False) in seen
    assert Shortened(part="session", left_out=True) in seen
    assert "[… " in prompt.messages[-1].text
    for form in PromptForm:
        with pytest.raises(PromptTooLong, match=r"--brt-engine auto,context=N"):
            samples(index, hints, model_of(tmp_path, 60), form)


def test_code_is_listed_as_far_as_the_prompt_has_room(tmp_path: Path) -> None:
    body = "".join(
        f"def other_{n}(x):\n    return x + {n}  # it adds {n}\n\n\n" for n in range(400)
    )
    write_tree(tmp_path, {**FILES, "pkg/core.py": FILES["pkg/core.py"] + "\n\n" + body})
    model = model_of(tmp_path)
    with open_index(tmp_path) as index:
        hints = gather_hints(ISSUE, index)
        prompt, notes = samples(index, hints, model, PromptForm.FILES, facts=True)
        assert model.count(prompt) < 3100
        assert notes == ()
        assert "def double(x):" in prompt.messages[-1].text
        brief = brief_of(hints, model)
        plans = [plan_prompt(brief, index, 1, earlier) for earlier in ((), ("call double(1)",))]
        flip = {"code": "code", "tried": "tried", "happened": "It passes."}
        asked = [
            *plans,
            version_prompt("write", {"plan": "p"}, brief, index, 1, problems=()),
            version_prompt("flip", flip, brief, index, 1, problems=()),
        ]
        # What does not change comes first, so that it is read once.
        texts = [prompt.messages[-1].text for prompt in asked]
        places = enumerate(zip(*texts, strict=False))
        shared = next(place for place, letters in places if len(set(letters)) > 1)
        assert "```\n\n" in texts[0][shared - 80 : shared + 1]
        assert model.count(plans[0]) < 1700
        assert shared > 0.5 * len(texts[0])


def test_a_report_cannot_give_orders_to_the_template(
    index: Index, hints: Hints, tmp_path: Path
) -> None:
    text = REPORT + '\n```\n{{ 7 * 7 }} {% include "x" %}\n```\n'
    prompt, _ = sampling_prompt(
        brief_of(hints, model_of(tmp_path), read_issue(text, "issue.md")),
        index,
        form=PromptForm.EXAMPLES,
        samples=1,
    )
    assert '{{ 7 * 7 }} {% include "x" %}' in prompt.messages[-1].text
