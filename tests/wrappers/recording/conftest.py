"""The toys of the trainer's tests, and short ways to record and to read."""

from __future__ import annotations

import sys
from pathlib import Path

TOYS = Path(__file__).parents[2] / "agents" / "rl"
for folder in (TOYS, Path(__file__).parent):
    if str(folder) not in sys.path:
        sys.path.insert(0, str(folder))
