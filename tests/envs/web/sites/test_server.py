"""The loopback server: sessions apart, nothing else served."""

from __future__ import annotations

import http.client
import socket
from concurrent.futures import ThreadPoolExecutor

import pytest

from pixelis.envs.web.families.family import draw_level, families, open_session
from pixelis.envs.web.sites.levels import WebDifficulty
from pixelis.envs.web.sites.server import COOKIE, MAX_BODY, SiteServer
from pixelis.envs.web.sites.site import Request, Response, SiteSession


@pytest.fixture
def server():
    with SiteServer() as one:
        yield one


def counting(state, request):
    if request.method == "POST":
        state["n"] += 1
        state["said"] = request.get("x")
        return Response.redirect("/")
    return Response.page(f"<title>t</title>{state['n']} {request.path} {state.get('said', '')}")


def ask(
    server: SiteServer,
    path: str,
    token: str = "",
    method: str = "GET",
    body: str | None = None,
    **headers: str,
):
    connection = http.client.HTTPConnection(server.origin.removeprefix("http://"), timeout=5)
    if token:
        headers["Cookie"] = f"{COOKIE}={token}"
    connection.request(method, path, body, headers)
    response = connection.getresponse()
    text = response.read().decode()
    connection.close()
    return response.status, text, dict(response.getheaders())


def test_it_listens_on_loopback_only(server: SiteServer):
    assert server.origin.startswith("http://127.0.0.1:")
    port = int(server.origin.rsplit(":", 1)[1])
    with socket.socket() as other, pytest.raises(OSError):
        other.settimeout(1)
        other.connect(("127.0.0.2", port))


def test_sessions_do_not_see_each_other(server: SiteServer):
    one, two = SiteSession(counting, {"n": 0}), SiteSession(counting, {"n": 0})
    server.add(one)
    server.add(two)
    status, _, headers = ask(server, "/", one.token, "POST", "x=a%26b")
    assert (status, headers["Location"]) == (303, "/")
    assert ask(server, "/", one.token)[1].endswith("1 / a&b")
    assert ask(server, "/", two.token)[1].endswith("0 / ")
    server.remove(one)
    assert ask(server, "/", one.token)[0] == 403


@pytest.mark.parametrize("token", ["", "x", "a" * 5_000, "%00", '"'])
def test_without_a_session_nothing_is_served(server: SiteServer, token: str):
    server.add(SiteSession(counting, {"n": 0}))
    assert ask(server, "/", token)[0] == 403


def test_tokens_are_long_and_differ():
    tokens = {SiteSession(counting, {}).token for _ in range(50)}
    assert len(tokens) == 50
    assert all(len(token) >= 32 for token in tokens)


@pytest.mark.parametrize(
    "path",
    [
        "/static/../server.py",
        "/static/%2e%2e/server.py",
        "/static//etc/passwd",
        "/static/LICENSE-bootstrap",
        "/static/",
        "/../../etc/passwd",
        "/static/widgets.js/../../server.py",
    ],
)
def test_no_path_leads_to_a_file(server: SiteServer, path: str):
    status, text, _ = ask(server, path)
    assert (status, text) == (403, "no such session")


def test_static_files_need_no_session(server: SiteServer):
    status, text, headers = ask(server, "/static/widgets.js")
    assert (status, headers["Content-Type"]) == (200, "text/javascript")
    assert "data-toggle" in text
    assert ask(server, "/static/bootstrap.min.css")[0] == 200
    assert ask(server, "/favicon.ico")[0] == 404


def test_what_a_browser_goes_to_is_the_sites_also_below_static(server: SiteServer):
    token = server.add(SiteSession(counting, {"n": 0}))
    to = {"Sec-Fetch-Dest": "document"}
    for path in ("/static/widgets.js", "/favicon.ico"):
        assert path in ask(server, path, token, **to)[1]
        assert ask(server, path, **to)[0] == 403
    assert ask(server, "/static/widgets.js")[2]["Vary"] == "Sec-Fetch-Dest", "else what was cached is shown"


def test_headers_forbid_foreign_content(server: SiteServer):
    session = SiteSession(counting, {"n": 0})
    headers = ask(server, "/", server.add(session))[2]
    assert "default-src 'self'" in headers["Content-Security-Policy"]
    assert headers["Cache-Control"] == "no-store"


def test_a_body_that_is_too_large_is_refused(server: SiteServer):
    session = SiteSession(counting, {"n": 0})
    token = server.add(session)
    connection = http.client.HTTPConnection(server.origin.removeprefix("http://"), timeout=5)
    connection.putrequest("POST", "/")
    connection.putheader("Cookie", f"{COOKIE}={token}")
    connection.putheader("Content-Length", str(MAX_BODY + 1))
    connection.endheaders()
    assert connection.getresponse().status == 413
    connection.close()
    assert session.state["n"] == 0


def test_one_session_is_served_to_many_threads_one_request_at_a_time(server: SiteServer):
    session = SiteSession(counting, {"n": 0})
    token = server.add(session)
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda _: ask(server, "/", token, "POST", "x=1"), range(20)))
    assert session.state["n"] == 20


def test_a_post_must_be_redirected():
    session = SiteSession(lambda state, request: Response.page("x"), {})
    with pytest.raises(RuntimeError, match="redirects"):
        session.handle(Request.of("POST", "/"))


def test_a_level_s_site_is_the_same_over_http(server: SiteServer):
    level = draw_level(families()["shop"], 1, WebDifficulty.of(2), "train")
    direct, served = open_session(level), open_session(level)
    token = server.add(served)
    for path in ("/", "/search?q=a", "/cart", "/nowhere"):
        assert ask(server, path, token)[1] == direct.handle(Request.of("GET", path)).html
    assert direct.state == served.state
