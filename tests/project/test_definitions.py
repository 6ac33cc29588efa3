from __future__ import annotations

import textwrap

from hypothesis import given
from hypothesis import strategies as st

from pytest_brt.project.definitions import read_facts

MODULE = textwrap.dedent(
    '''\
    """Doc."""
    from __future__ import annotations
    import os.path, sys as system
    from .core import (Thing as T,
                       other)
    LIMIT: int = 3
    a = b = 1
    if LIMIT:
        from x import *
        late = 1
        def conditional(): return 1
    else:
        late = 2

    @decorate
    @twice(3)
    class Walker(Base,
                 metaclass=M):
        attribute = 1

        def walk(self, n: int = 2) -> int:
            import json
            def inner(x):
                return x
            return inner(n)

        async def later(
            self,
            *args,
        ):
            """Doc (with brackets)."""
    '''
)


def test_definitions() -> None:
    facts = read_facts(MODULE)
    found = {d.qualname: d for d in facts.definitions}
    assert list(found) == [
        *("LIMIT", "a", "b", "late", "conditional"),
        *("Walker", "Walker.walk", "Walker.later"),
    ]
    walker = found["Walker"]
    assert (walker.line, walker.signature) == (15, "(Base, metaclass=M)")
    assert walker.end_line == len(MODULE.splitlines())
    assert [name for name, one in found.items() if one.is_variable] == ["LIMIT", "a", "b", "late"]
    assert found["Walker.walk"].signature == "(self, n: int=2) -> int"
    assert found["Walker.later"].signature == "(self, *args)"
    assert found["conditional"].signature == "()"


@given(st.text(max_size=200))
def test_any_text_has_facts(text: str) -> None:
    read_facts(text)
