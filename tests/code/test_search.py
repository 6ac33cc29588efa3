from __future__ import annotations

from collections.abc import Iterator

import pytest

from pytest_brt.code.index import Index, open_index
from pytest_brt.code.search import Hit, find_definitions, wanted_in
from tests.support.trees import write_tree

FILES = {
    "shop/__init__.py": "",
    "shop/parse.py": (
        "import re\n\nprice_desc_re = re.compile('x')\n\n\n"
        "class Price:\n    unit = 'gram'\n\n    def handle(self, text):\n"
        "        if not price_desc_re.match(text):\n"
        "            raise ValueError('Malformed price description')\n"
    ),
    "shop/show.py": "".join(
        f"def show_price_{n}(price):\n    return price\n\n\n" for n in range(9)
    ),
    "shop/other.py": "def description_of(thing):\n    return thing\n",
    "tests/test_parse.py": (
        "def test_malformed_price_description():\n    assert 'Malformed price description'\n"
    ),
    **{f"shop/more{n}.py": f"def price_{n}():\n    return {n}\n" for n in range(20)},
}


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Index]:
    root = tmp_path_factory.mktemp("project")
    write_tree(root, FILES)
    with open_index(root) as index:
        yield index


def find(index: Index, text: str, **changed: str) -> list[tuple[str, Hit]]:
    files = {path.replace("__", "/") + ".py": new for path, new in changed.items()}

    def read(path: str) -> str:
        return files[path] if path in files else index.source(path)

    found = find_definitions(wanted_in(text), index, read=read, changed=files)
    return [(path, hit) for path, hits in found.items() for hit in hits]


def names(found: list[tuple[str, Hit]]) -> list[str]:
    return [hit.definition.qualname for _, hit in found]


def test_a_sentence_is_searched_for_its_identifiers(index: Index) -> None:
    asked = "where is the price that description_of(thing) should have given"
    assert list(wanted_in(asked)) == ["description_of"]
    assert names(find(index, asked))[0] == "description_of"
    plain = "where is the price that people should pay"
    assert "price" in wanted_in(plain), "a sentence without identifiers keeps its words"


def test_all_words_together_come_before_many_of_a_usual_one(index: Index) -> None:
    found = find(index, "Malformed price description")
    path, first = found[0]
    assert (path, first.definition.qualname, first.line) == (
        "shop/parse.py",
        "Price.handle",
        11,
    )
    assert first.complete
    assert first.words == ("Malformed", "price", "description")


def test_a_rare_word_beats_a_usual_one(index: Index) -> None:
    paths = dict.fromkeys(path for path, _ in find(index, "price description"))
    assert list(paths)[:2] == ["shop/parse.py", "shop/other.py"]


def test_a_whole_identifier_comes_before_its_parts(index: Index) -> None:
    found = find(index, "price_desc_re")
    assert names(found)[:2] == ["price_desc_re", "Price.handle"]
    assert {hit.words for _, hit in found[:2]} == {("price_desc_re",)}


def test_no_part_has_fewer_than_three_letters(index: Index) -> None:
    assert wanted_in("re x1 a_re desc_re of") == {"a_re": (), "desc_re": ("desc",)}


def test_what_stands_in_a_class_itself_is_found(index: Index) -> None:
    assert [(hit.definition.qualname, hit.line) for _, hit in find(index, "gram")] == [("Price", 7)]


def test_tests_come_after_the_product(index: Index) -> None:
    paths = [path for path, _ in find(index, "malformed")]
    assert paths == ["shop/parse.py", "tests/test_parse.py"]
    # But not where they are looked for.
    assert find(index, "test malformed")[0][0] == "tests/test_parse.py"


def test_files_are_read_as_they_are_now(index: Index) -> None:
    new = "def wholly_new():\n    return 'Malformed'\n"
    assert find(index, "wholly_new") == []
    path, hit = find(index, "wholly_new", shop__parse=new)[0]
    assert (path, hit.definition.line) == ("shop/parse.py", 1)
    assert "Price.handle" not in names(find(index, "malformed", shop__parse=new))


def test_words_are_found_with_other_endings(index: Index) -> None:
    assert "description_of" in names(find(index, "descriptions"))
    assert find(index, "quux") == []
