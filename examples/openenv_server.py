"""A server of OpenEnv's for any environment of Pixelis, to be played by any client of OpenEnv's.

    python examples/openenv_server.py --env Pixelis/ZoomRead-v0 --images

It needs ``pip install 'pixelis[openenv]'``, in an environment apart from the lock's: ``make openenv``.
"""

from __future__ import annotations

import argparse
import json

import uvicorn

from pixelis.adapters.openenv import server


def main() -> None:
    """Serve until interrupted."""
    parser = argparse.ArgumentParser(description="Serve an environment by OpenEnv's protocol.")
    parser.add_argument("--env", default="Pixelis/WebBrowse-v0", help="a Gymnasium id")
    parser.add_argument("--env-kwargs", type=json.loads, default={}, help="JSON, for gymnasium.make")
    parser.add_argument("--images", action="store_true", help="observations hold the picture")
    parser.add_argument("--sessions", type=int, default=64, help="clients that play at a time")
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, default=8000)
    args = parser.parse_args()
    app = server(args.env, args.env_kwargs, images=args.images, sessions=args.sessions)
    uvicorn.run(app, host=args.host, port=args.port)


if __name__ == "__main__":
    main()
