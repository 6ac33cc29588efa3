from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from pytest_brt.code.words import WordCounter, split_identifier, words_of


def test_words() -> None:
    assert split_identifier("_getHTTPResponse2") == ("get", "http", "response", "2")
    words = WordCounter().words("def readFile(read_all): read_all")
    assert sorted(set(words.split())) == ["all", "def", "file", "read", "read_all", "readfile"]
    assert words.split().count("read") == 3
    assert words_of(["a.readFile", "readFile"]) == ("readfile", "read", "file")


@given(st.text(max_size=200))
def test_any_text_has_words(text: str) -> None:
    WordCounter().words(text)


@given(st.text(alphabet=st.sampled_from("abcXYZ_.09"), max_size=20))
def test_split_loses_no_letter(name: str) -> None:
    assert "".join(split_identifier(name)) == name.replace("_", "").replace(".", "").lower()
