"""``python -m pixelis``: the command ``pixelis``."""

from pixelis.cli.main import run

if __name__ == "__main__":
    run()
