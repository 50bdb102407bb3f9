"""Fine-tune a model on demonstrations: ``python scripts/train_sft.py --help``."""

from __future__ import annotations

import sys

from pixelis.cli.sft import main

if __name__ == "__main__":
    sys.exit(main())
