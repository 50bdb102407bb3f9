"""Measure what LoRA adapters have learnt, layer by layer: ``python scripts/analyse_lora.py --help``."""

from __future__ import annotations

import sys

from pixelis.cli.analyse_lora import main

if __name__ == "__main__":
    sys.exit(main())
