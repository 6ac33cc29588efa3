"""Studies that the docs show, each run by a test."""

from __future__ import annotations

REPAIRED = (
    "pytest-brt study bugs --stages repair --model scripted:fixes.txt "
    "--strategy replay --without search --without search,memory"
)
BOTH_WAYS = (
    "pytest-brt study bugs --stages repair --model gguf:MODEL.gguf "
    "--repair-strategy repairagent,passerine"
)
STUDIED = "pytest-brt study bugs --guard no"
