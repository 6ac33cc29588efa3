"""Issues and pull requests as people name them."""

from __future__ import annotations

import pytest

from pytest_brt.issue.github import find_address, repository_of


@pytest.mark.parametrize(
    ("text", "repository", "number"),
    [
        ("#12", "", "12"),
        ("pallets/click#12", "pallets/click", "12"),
        ("https://github.com/pallets/click/issues/12", "pallets/click", "12"),
        ("https://github.com/pallets/click/pull/12", "pallets/click", "12"),
        ("https://github.com/pallets/click/pull/12/files#r1", "pallets/click", "12"),
        ("https://github.com/pallets/click/issues/12#issuecomment-7", "pallets/click", "12"),
        ("https://git.example.org/a/b/pull/3", "git.example.org/a/b", "3"),
    ],
)
def test_what_is_named(text: str, repository: str, number: str) -> None:
    found = find_address(text)
    assert found is not None
    assert (found.repository, found.number) == (repository, number)


@pytest.mark.parametrize(
    "text", ["12", "#", "#x", "patches/", "a/b", "a/b/c#1", "git:fix-*", "https://github.com/a/b"]
)
def test_what_is_something_else(text: str) -> None:
    assert find_address(text) is None


@pytest.mark.parametrize(
    ("remote", "repository"),
    [
        ("git@github.com:pallets/click.git", "pallets/click"),
        ("https://github.com/pallets/click", "pallets/click"),
        ("https://user:secret@github.com/pallets/click.git", "pallets/click"),
        ("ssh://git@git.example.org/a/b.git", "git.example.org/a/b"),
        ("/srv/git/click.git", ""),
        ("../click", ""),
    ],
)
def test_where_a_repository_comes_from(remote: str, repository: str) -> None:
    assert repository_of(remote) == repository
