"""A module is taken apart into what is found by its own terms."""

from __future__ import annotations

from collections.abc import Mapping

from hypothesis import given
from hypothesis import strategies as st

from pytest_brt.code.file_facts import read_facts
from pytest_brt.code.passages import FIELDS, read_passages

MODULE = '''\
"""About slugs."""
LIMIT = 3


class Reader(Base):
    """Reads umlauts."""

    kind = "plain"

    def read_all(self, path):
        # Opens it.
        def inner():
            return open(path)
        raise ValueError("cannot read")


def slugify(title):
    return title
'''


def passages(text: str, path: str = "pkg/text.py") -> dict[str, Mapping[str, frozenset[str]]]:
    definitions = read_facts(text).definitions
    found = read_passages(path, text, definitions)
    return {definitions[at].qualname if at >= 0 else "": terms for at, terms in found}


def test_each_line_belongs_to_one_passage() -> None:
    found = passages(MODULE)
    assert set(found) == {"", "Reader", "Reader.read_all", "slugify"}
    assert "limit" in found[""]["body"]
    assert found[""]["doc"] == {"about", "slug"}
    assert {"base", "kind", "reader"} <= found["Reader"]["body"]
    assert "path" not in found["Reader"]["body"]


def test_terms_are_told_by_where_they_stand() -> None:
    method = passages(MODULE)["Reader.read_all"]
    assert method["name"] == {"read_all", "read", "all"}
    assert method["scope"] == {"pkg", "text", "reader"}
    assert method["doc"] == {"open", "it"}
    assert method["string"] == {"cannot", "read"}
    assert "inner" in method["body"]
    assert "cannot" not in method["body"]


def test_keywords_are_no_terms_of_code() -> None:
    found = passages('"""What to import."""\nfrom interval import clamp\n')[""]
    assert found["body"] == {"interval", "clamp"}
    assert "import" in found["doc"]


@given(st.text(alphabet=st.sampled_from("abc \n\"'#():=def class"), max_size=120))
def test_any_text_has_passages(text: str) -> None:
    for passage in passages(text).values():
        assert set(passage) == set(FIELDS)
