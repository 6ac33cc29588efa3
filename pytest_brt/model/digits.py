"""Says ranges of whole numbers as digits, for grammars."""

from __future__ import annotations


def whole_numbers(low: int, high: int) -> str:
    """Return the grammar rule of the decimal integers from `low` to `high`, both included.

    >>> whole_numbers(7, 32)
    '[7-9] | "1" [0-9] | "2" [0-9] | "3" [0-2]'
    >>> whole_numbers(-1, 0)
    '"-1" | "0"'
    """
    parts = []
    if low < 0:
        parts += ['"-' + part[1:] if part[0] == '"' else '"-" ' + part
                  for part in _ranges(max(1, -high), -low)]  # fmt: skip
    if high >= 0:
        parts += _ranges(max(0, low), high)
    return " | ".join(parts)


def _ranges(low: int, high: int) -> list[str]:
    """Return one alternative for each run of numbers that differ in their last digits only."""
    parts = []
    while low <= high:
        # The largest block of 10**n numbers, or of k such blocks, that begins at `low`.
        size = 1
        while low % (size * 10) == 0 and low + size * 10 - 1 <= high and low > 0:
            size *= 10
        digit = low // size % 10
        count = min((high - low + 1) // size, 10 - digit)
        head = str(low // size)[:-1]
        last = f"[{digit}-{digit + count - 1}]" if count > 1 else f'"{digit}"'
        if head:
            last = f'"{head}{digit}"' if count == 1 else f'"{head}" {last}'
        zeros = len(str(size)) - 1
        parts.append(last + (" [0-9]" if zeros == 1 else f" [0-9]{{{zeros}}}" if zeros else ""))
        low += count * size
    return parts
