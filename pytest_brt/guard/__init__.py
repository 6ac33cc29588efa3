"""Regressions: existing tests that passed before a patch and do not any more."""

from pytest_brt.guard.regressions import LOOKING, SILENT, Chosen, Guard
from pytest_brt.guard.selection import Touched, touched_by

__all__ = ["LOOKING", "SILENT", "Chosen", "Guard", "Touched", "touched_by"]
