"""Studies that the docs show, each run by a test."""

from __future__ import annotations

#: Files of studies, each below its name.
FILES = {
    "parts.toml": """\
dataset = "bugs"
results = "brt-results/bugs"
stages = ["repair"]
repair_strategies = ["repairagent"]
without = [["search"], ["search", "memory"]]
""",
    "both.toml": """\
dataset = "bugs"
results = "brt-results/bugs"
stages = ["repair"]
repair_strategies = ["repairagent", "passerine"]
""",
}
REPAIRED = "pytest-brt study parts.toml --model scripted:fixes.txt --strategy replay"
BOTH_WAYS = "pytest-brt study both.toml --model gguf:MODEL.gguf"
STUDIED = "pytest-brt study bugs --guard no"
