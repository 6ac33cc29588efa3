from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from pytest_brt.issue.sessions import read_shell


def pairs(text: str) -> list[tuple[str, str]]:
    return [(exchange.source, exchange.output) for exchange in read_shell(text)]


def test_commands_and_their_output() -> None:
    text = "$ cat a.py\nx = 1\n\ny = 2\n(venv) me@host:~/dir$ tool a \\\n    --b\nout\n$"
    assert pairs(text) == [("cat a.py", "x = 1\n\ny = 2"), ("tool a --b", "out")]


def test_lines_without_prompts_are_commands() -> None:
    assert pairs("tool a\ntool b") == [("tool a", ""), ("tool b", "")]


@given(st.text(alphabet=st.sampled_from("$%> \n\\abC:@-"), max_size=60))
def test_any_text_is_accepted(text: str) -> None:
    for exchange in read_shell(text):
        assert exchange.source


def test_output_with_signs_in_it_is_no_prompt() -> None:
    text = "host:dir me$ tool\n  raise error('bad %s' % name)\n100% done\nValueError: no"
    assert pairs(text) == [("tool", "  raise error('bad %s' % name)\n100% done\nValueError: no")]
