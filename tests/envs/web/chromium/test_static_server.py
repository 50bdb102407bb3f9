"""The server of a folder, asked over real connections: nothing outside the folder, and no request ends it."""

from __future__ import annotations

import http.client
from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from pixelis.envs.web.chromium.static_server import FolderServer


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[FolderServer]:
    above = tmp_path_factory.mktemp("above")
    inside = above / "inside"
    (inside / "sub").mkdir(parents=True)
    (above / "secret.txt").write_text("SECRET")
    (above / "inside-too.txt").write_text("SECRET")  # begins as the folder's own name does
    (inside / "page.html").write_text("<p>é</p>", encoding="utf-8")
    (inside / "sub" / "code.js").write_text("1")
    (inside / "raw").write_bytes(b"\x00\x01")
    (inside / "link.txt").symlink_to(above / "secret.txt")
    made = FolderServer(inside)
    yield made
    made.close()
    made.close()


def get(server: FolderServer, path: str) -> tuple[int, str | None, bytes]:
    connection = http.client.HTTPConnection(server.host, timeout=10)
    connection.putrequest("GET", path, skip_host=False)
    connection.endheaders()
    answer = connection.getresponse()
    found = answer.status, answer.getheader("Content-Type"), answer.read()
    connection.close()
    return found


def test_files_of_the_folder_by_kind(server: FolderServer):
    assert get(server, "/page.html?seed=1#top") == (200, "text/html; charset=utf-8", "<p>é</p>".encode())
    status, kind, body = get(server, "/sub/code.js")
    assert (status, body) == (200, b"1") and kind is not None and kind.endswith("javascript; charset=utf-8")
    assert get(server, "/raw") == (200, "application/octet-stream", b"\x00\x01")


NOT_FOUND = (404, "text/plain", b"no such file")


@pytest.mark.parametrize(
    "path",
    [
        "/", "/sub", "/none", "/../secret.txt", "/%2e%2e/secret.txt", "/sub/../../secret.txt",
        "//../secret.txt", "/..%2fsecret.txt", "/../inside-too.txt", "/link.txt", "/page.html%00",
        "/%00", "/" + "a" * 5_000,
    ],
)  # fmt: skip
def test_what_is_outside_or_no_name_is_not_found(path: str, server: FolderServer):
    assert get(server, path) == NOT_FOUND


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.sampled_from(["..", ".", "%2e%2e", "%2f", "sub", "secret.txt", "%00", "%ff", "~", "\\"])))
@example(["..", "secret.txt"])
def test_no_path_leads_to_the_secret(server: FolderServer, parts: list[str]):
    status, _, body = get(server, "/" + "/".join(parts))
    assert status == 404 and b"SECRET" not in body
