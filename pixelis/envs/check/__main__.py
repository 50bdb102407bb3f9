"""``python -m pixelis.envs.check ENV``."""

import sys

from pixelis.envs.check.check import main

if __name__ == "__main__":
    sys.exit(main())
