"""Environments: a task, a toolset and a verifier each (see ``ToolEnv``).

The names are listed in docs/reference/public_names.md and imported when they are used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pixelis.lazy_exports import lazy_exports

if TYPE_CHECKING:
    from pixelis.envs.check.check import CheckReport as CheckReport
    from pixelis.envs.check.check import check_env as check_env
    from pixelis.envs.check.tests import EnvContractTests as EnvContractTests
    from pixelis.envs.keywords import Difficulty as Difficulty
    from pixelis.envs.keywords import Expected as Expected
    from pixelis.envs.keywords import FilePath as FilePath
    from pixelis.envs.keywords import Flag as Flag
    from pixelis.envs.keywords import FolderPath as FolderPath
    from pixelis.envs.keywords import Number as Number
    from pixelis.envs.keywords import Split as Split
    from pixelis.envs.keywords import Turns as Turns
    from pixelis.envs.keywords import Whole as Whole
    from pixelis.envs.keywords import checked_keywords as checked_keywords
    from pixelis.envs.pixel.base.env import PixelEnv as PixelEnv
    from pixelis.envs.rows.env import RowsEnv as RowsEnv
    from pixelis.envs.tasks import Task as Task
    from pixelis.envs.tasks import TaskSource as TaskSource
    from pixelis.envs.tool_env import ToolEnv as ToolEnv
    from pixelis.envs.tool_env import Verdict as Verdict
    from pixelis.envs.tool_env import Verifier as Verifier
    from pixelis.envs.tools import CallRefused as CallRefused
    from pixelis.envs.tools import Tool as Tool
    from pixelis.envs.tools import ToolOutput as ToolOutput
    from pixelis.envs.tools import ToolResult as ToolResult
    from pixelis.envs.tools import Toolset as Toolset
    from pixelis.rewards.terms.traits import RewardTraits as RewardTraits
    from pixelis.rewards.terms.traits import ToolTraits as ToolTraits

__getattr__, __dir__, __all__ = lazy_exports(__name__)
