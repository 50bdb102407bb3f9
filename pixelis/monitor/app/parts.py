"""NiceGUI's parts, or an error that says how to get them."""

from __future__ import annotations

from pixelis.errors import MissingDependencyError

try:
    from nicegui import app, background_tasks, ui
    from nicegui.run import io_bound as in_thread
    from starlette.middleware.trustedhost import TrustedHostMiddleware
    from starlette.requests import Request
    from starlette.responses import Response
except ImportError as error:
    raise MissingDependencyError("the monitor needs NiceGUI: pip install 'pixelis[monitor]'") from error

__all__ = ["Request", "Response", "TrustedHostMiddleware", "app", "background_tasks", "in_thread", "ui"]
