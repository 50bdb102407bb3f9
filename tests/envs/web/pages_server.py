"""Pages that behave badly, served on this machine."""

from __future__ import annotations

import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

BIG = "<h1>Big</h1>" + "<p>line <b>x</b> and more words than anyone reads</p>\n" * 200_000


class PagesServer:
    """Serves ``pages`` (path → html) at ``url``; remembers the paths that were asked for."""

    def __init__(self, pages: dict[str, str]) -> None:
        self.pages, self.asked, self.leave = pages, [], threading.Event()
        server = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                server.answer(self)

            def log_message(self, *arguments: object) -> None:
                pass

        self._httpd = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._httpd.daemon_threads = True
        self.port = self._httpd.server_address[1]
        self.url = f"http://127.0.0.1:{self.port}"
        threading.Thread(target=self._httpd.serve_forever, args=(0.05,), daemon=True).start()

    def answer(self, handler: BaseHTTPRequestHandler) -> None:
        path = handler.path
        self.asked.append(path)
        if path == "/never":
            self.leave.wait(30)
            return
        if path.startswith("/late"):
            time.sleep(0.5)
        body = BIG if path == "/big" else self.pages.get(path)
        handler.send_response(200 if body is not None else 404)
        kind = "image/svg+xml" if path.endswith(".svg") else "text/html"
        handler.send_header("Content-Type", f"{kind}; charset=utf-8")
        if path == "/file":
            handler.send_header("Content-Disposition", "attachment; filename=file.bin")
        handler.end_headers()
        handler.wfile.write((body or "").encode())
        if path == "/half":
            handler.wfile.flush()
            self.leave.wait(30)

    def close(self) -> None:
        self.leave.set()
        time.sleep(0.05)
        self._httpd.shutdown()
        self._httpd.server_close()
