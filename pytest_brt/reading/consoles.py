"""Shell sessions of a report → the Python in them, and what running it printed."""

from __future__ import annotations

import re
from dataclasses import replace

from pytest_brt.issue.shells import read_shell
from pytest_brt.issue.tracebacks import final_exception
from pytest_brt.reading.listings import read_python
from pytest_brt.reading.outputs import read_output, read_traceback_block
from pytest_brt.reading.progress import (
    Reading,
)
from pytest_brt.types import Block, BlockKind

_PYTHON_CODE = re.compile(r"^(?:python[\d.]*|py) -c (?P<quote>[\"'])(?P<code>.*)(?P=quote)$")
_SHOWS_FILE = re.compile(r"^(?:cat|type|more) \S+\.py$")


def read_shell_block(reading: Reading, block: Block) -> None:
    """Python that a shell session shows (`cat a.py`, `python -c`), and what running it printed."""
    for exchange in read_shell(block.text):
        line = block.line + exchange.line
        code = _PYTHON_CODE.match(exchange.source)
        if code:
            text = code["code"].replace('\\"', '"')
            read_python(reading, Block(kind=BlockKind.PYTHON, text=text, line=line))
        elif _SHOWS_FILE.match(exchange.source) and exchange.output:
            read_python(reading, Block(kind=BlockKind.PYTHON, text=exchange.output, line=line + 1))
            continue
        elif not re.match(r"(?:python[\d.]*|py) [\w./-]+\.py\b", exchange.source):
            continue
        if exchange.output and final_exception(exchange.output):
            read_traceback_block(reading, replace(block, text=exchange.output))
        elif exchange.output:
            read_output(reading, replace(block, text=exchange.output))
