from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from pytest_brt.project.terms import split_identifier, stem, terms_of


def test_words() -> None:
    assert split_identifier("_getHTTPResponse2") == ("get", "http", "response", "2")
    assert terms_of("def readFile(read_all)") == {
        "def",
        "readfil",
        "read",
        "file",
        "read_all",
        "all",
    }


def test_a_code_in_a_name_is_found_by_itself() -> None:
    assert "b026" in terms_of("check_for_b026")
    assert "b026" in terms_of("B026 is wrong")


def test_endings_do_not_count() -> None:
    assert stem("classes") == stem("class")
    assert stem("rendering") == stem("renders") == stem("rendered")
    assert (stem("bus"), stem("css"), stem("red")) == ("bus", "css", "red")


@given(st.text(max_size=200))
def test_any_text_has_terms(text: str) -> None:
    assert all(term for term in terms_of(text))


@given(st.text(alphabet=st.sampled_from("abcXYZ_.09"), max_size=20))
def test_split_loses_no_letter(name: str) -> None:
    assert "".join(split_identifier(name)) == name.replace("_", "").replace(".", "").lower()


@given(st.text(alphabet=st.sampled_from("abcXYZ_"), min_size=2, max_size=20))
def test_case_and_outer_underscores_do_not_change_the_whole(name: str) -> None:
    whole = stem(name.lower().strip("_"))
    if len(name.lower().strip("_")) > 1:
        assert whole in terms_of(name) & terms_of(f"_{name}")
