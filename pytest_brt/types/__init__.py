"""The words of this project as values: frozen, slotted, keyword-only.

Everything here is text, numbers, enums and tuples of them, so that each value can be
hashed, compared, sent to another process and written as JSON (`codec`). Ids are content
hashes; paths are POSIX strings relative to the root of the project under test.
"""

from pytest_brt.types.note import Answer as Answer
from pytest_brt.types.note import Fix as Fix
from pytest_brt.types.note import Note as Note
from pytest_brt.types.note import Status as Status
from pytest_brt.types.patch import UNPATCHED as UNPATCHED
from pytest_brt.types.patch import AppliedPatch as AppliedPatch
from pytest_brt.types.patch import AssertedBug as AssertedBug
from pytest_brt.types.patch import Given as Given
from pytest_brt.types.patch import Guarded as Guarded
from pytest_brt.types.patch import Outcome as Outcome
from pytest_brt.types.patch import Patch as Patch
from pytest_brt.types.patch import PatchResult as PatchResult
from pytest_brt.types.patch import Rank as Rank
from pytest_brt.types.patch import Regression as Regression
from pytest_brt.types.patch import Standing as Standing
from pytest_brt.types.patch import Telling as Telling
from pytest_brt.types.patch import Variation as Variation
from pytest_brt.types.patch import tied as tied
from pytest_brt.types.record import Attempt as Attempt
from pytest_brt.types.record import Call as Call
from pytest_brt.types.record import Cost as Cost
from pytest_brt.types.record import Ending as Ending
from pytest_brt.types.record import FoundFix as FoundFix
from pytest_brt.types.record import Place as Place
from pytest_brt.types.record import Repair as Repair
from pytest_brt.types.record import RunRecord as RunRecord
from pytest_brt.types.record import Step as Step
from pytest_brt.types.record import Trajectory as Trajectory
from pytest_brt.types.record import made_tests as made_tests
from pytest_brt.types.report import Block as Block
from pytest_brt.types.report import BlockKind as BlockKind
from pytest_brt.types.report import Issue as Issue
from pytest_brt.types.test import COUNTS as COUNTS
from pytest_brt.types.test import Author as Author
from pytest_brt.types.test import CandidateTest as CandidateTest
from pytest_brt.types.test import Cause as Cause
from pytest_brt.types.test import CauseCode as CauseCode
from pytest_brt.types.test import Check as Check
from pytest_brt.types.test import Evidence as Evidence
from pytest_brt.types.test import FileChange as FileChange
from pytest_brt.types.test import Finding as Finding
from pytest_brt.types.test import Frame as Frame
from pytest_brt.types.test import JudgedTest as JudgedTest
from pytest_brt.types.test import Judgement as Judgement
from pytest_brt.types.test import Measured as Measured
from pytest_brt.types.test import Oracle as Oracle
from pytest_brt.types.test import OracleKind as OracleKind
from pytest_brt.types.test import Origin as Origin
from pytest_brt.types.test import Raised as Raised
from pytest_brt.types.test import Review as Review
from pytest_brt.types.test import Subject as Subject
from pytest_brt.types.test import TestRun as TestRun
from pytest_brt.types.test import Verdict as Verdict
from pytest_brt.types.test import bug_tests as bug_tests
