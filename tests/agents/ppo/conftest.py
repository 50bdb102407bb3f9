"""The toy, the model and the configuration of the GRPO tests."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

_PATH = Path(__file__).parents[1] / "grpo" / "conftest.py"
_SPEC = importlib.util.spec_from_file_location("grpo_conftest", _PATH)
assert _SPEC is not None and _SPEC.loader is not None
_GRPO = importlib.util.module_from_spec(_SPEC)
sys.modules["grpo_conftest"] = _GRPO
_SPEC.loader.exec_module(_GRPO)

letter_model, toy_config, play = _GRPO.letter_model, _GRPO.toy_config, _GRPO.play
