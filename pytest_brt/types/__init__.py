"""The words of this project as values: frozen, slotted, keyword-only.

Everything here is text, numbers, enums and tuples of them, so that each value can be
hashed, compared, sent to another process and written as JSON (`codec`). Ids are content
hashes; paths are POSIX strings relative to the root of the project under test.
"""

from pytest_brt.types.answer import Contradicted as Contradicted
from pytest_brt.types.answer import Doubt as Doubt
from pytest_brt.types.answer import IssueAnswer as IssueAnswer
from pytest_brt.types.answer import Lack as Lack
from pytest_brt.types.answer import Leader as Leader
from pytest_brt.types.answer import Level as Level
from pytest_brt.types.answer import NoLeader as NoLeader
from pytest_brt.types.answer import NoneFixes as NoneFixes
from pytest_brt.types.answer import OnlyOne as OnlyOne
from pytest_brt.types.answer import RankingAnswer as RankingAnswer
from pytest_brt.types.answer import Unfinished as Unfinished
from pytest_brt.types.attempt import Attempt as Attempt
from pytest_brt.types.attempt import AttemptNote as AttemptNote
from pytest_brt.types.candidate import REPRODUCES as REPRODUCES
from pytest_brt.types.candidate import CandidateTest as CandidateTest
from pytest_brt.types.candidate import JudgedTest as JudgedTest
from pytest_brt.types.candidate import Judgement as Judgement
from pytest_brt.types.candidate import Oracle as Oracle
from pytest_brt.types.candidate import OracleKind as OracleKind
from pytest_brt.types.candidate import Origin as Origin
from pytest_brt.types.candidate import Review as Review
from pytest_brt.types.cause import Cause as Cause
from pytest_brt.types.dialogue import Cost as Cost
from pytest_brt.types.dialogue import Ending as Ending
from pytest_brt.types.dialogue import KeptDialogue as KeptDialogue
from pytest_brt.types.dialogue import Step as Step
from pytest_brt.types.dialogue import Trajectory as Trajectory
from pytest_brt.types.issue import Block as Block
from pytest_brt.types.issue import BlockKind as BlockKind
from pytest_brt.types.issue import Issue as Issue
from pytest_brt.types.miss import Miss as Miss
from pytest_brt.types.outcome import Frame as Frame
from pytest_brt.types.outcome import Raised as Raised
from pytest_brt.types.outcome import TestRun as TestRun
from pytest_brt.types.outcome import Verdict as Verdict
from pytest_brt.types.patch import AppliedPatch as AppliedPatch
from pytest_brt.types.patch import Cell as Cell
from pytest_brt.types.patch import FailsBefore as FailsBefore
from pytest_brt.types.patch import FileChange as FileChange
from pytest_brt.types.patch import Guarded as Guarded
from pytest_brt.types.patch import Patch as Patch
from pytest_brt.types.patch import PatchResult as PatchResult
from pytest_brt.types.patch import Regression as Regression
from pytest_brt.types.record import FixSource as FixSource
from pytest_brt.types.record import FoundFix as FoundFix
from pytest_brt.types.record import Localised as Localised
from pytest_brt.types.record import NotRun as NotRun
from pytest_brt.types.record import Place as Place
from pytest_brt.types.record import Rank as Rank
from pytest_brt.types.record import Repair as Repair
from pytest_brt.types.record import RunRecord as RunRecord
from pytest_brt.types.record import Standing as Standing
from pytest_brt.types.record import distinct as distinct
from pytest_brt.types.refused import Refused as Refused
from pytest_brt.types.remark import AppliedLeniently as AppliedLeniently
from pytest_brt.types.remark import ChangesNothing as ChangesNothing
from pytest_brt.types.remark import LeftOutFiles as LeftOutFiles
from pytest_brt.types.remark import LeftOutKind as LeftOutKind
from pytest_brt.types.remark import Mending as Mending
from pytest_brt.types.remark import NamesTestTools as NamesTestTools
from pytest_brt.types.remark import NeedsBuild as NeedsBuild
from pytest_brt.types.remark import NotExercised as NotExercised
from pytest_brt.types.remark import PlaceChosen as PlaceChosen
from pytest_brt.types.remark import Remark as Remark
from pytest_brt.types.remark import RowNote as RowNote
from pytest_brt.types.remark import RunAgainAlone as RunAgainAlone
from pytest_brt.types.remark import SinglesOutInput as SinglesOutInput
from pytest_brt.types.remark import SyntaxErrorAfter as SyntaxErrorAfter
from pytest_brt.types.shortfall import ChosenBy as ChosenBy
from pytest_brt.types.shortfall import Shortfall as Shortfall
