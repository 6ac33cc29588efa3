"""Which files, classes and functions of a project hold tests."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from fnmatch import fnmatchcase


@dataclass(frozen=True, slots=True, kw_only=True)
class Collected:
    """Which files, classes and functions hold tests: a project's pytest settings may say.

    Where they do not, these are pytest's own, and ``tests.py`` as Django and unittest have it.
    See `python_files` and so on in https://docs.pytest.org/en/stable/reference/reference.html.
    """

    #: Patterns of names, or of paths where they have a slash.
    files: tuple[str, ...] = ("test_*.py", "*_test.py", "tests.py", "test.py")
    #: Prefixes or patterns, as of `functions`. Classes of unittest count whatever they are called.
    classes: tuple[str, ...] = ("Test",)
    functions: tuple[str, ...] = ("test",)

    def has_file(self, path: str) -> bool:
        """Return whether pytest would look for tests in `path`, relative to the project.

        >>> Collected().has_file("tests/test_a.py"), Collected().has_file("tests/conftest.py")
        (True, False)
        >>> Collected(files=("checks/*.py",)).has_file("pkg/checks/a.py")
        True
        """
        name = path.rpartition("/")[2]
        return path.endswith(".py") and any(
            fnmatchcase(*((f"/{path}", f"*/{pattern}") if "/" in pattern else (name, pattern)))
            for pattern in self.files
        )

    def has_class(self, name: str) -> bool:
        """Return whether a class called `name` holds tests though it is not one of unittest."""
        return _begins(name, self.classes)

    def has_function(self, name: str) -> bool:
        """Return whether a function called `name` is a test."""
        return _begins(name, self.functions)

    def has_node(self, node: str) -> bool:
        """Return whether a node below a file, as in "TestX::test_y[1]", is one of these tests.

        A class of another name can only be one of unittest, whose tests are called ``test…``.

        >>> kinds = Collected(functions=("check_",))
        >>> kinds.has_node("check_a[1]"), kinds.has_node("test_a"), kinds.has_node("Case::test_a")
        (True, False, True)
        """
        *classes, name = node.partition("[")[0].split("::")
        if classes and not all(map(self.has_class, classes)):
            return name.startswith("test")
        return self.has_function(name)


#: What is collected where a project's settings say nothing.
USUAL = Collected()


def _begins(name: str, patterns: Iterable[str]) -> bool:
    return any(name.startswith(pattern) or fnmatchcase(name, pattern) for pattern in patterns)
