"""``python -m pixelis.envs.coding.selftest``."""

import sys

from pixelis.envs.coding.selftest.selftest import main

if __name__ == "__main__":
    sys.exit(main())
