"""Export a trained model: ``python scripts/export_model.py --help``."""

from __future__ import annotations

import sys

from pixelis.cli.export import main

if __name__ == "__main__":
    sys.exit(main())
