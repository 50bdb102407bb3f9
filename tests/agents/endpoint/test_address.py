"""Names of models at an address."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pixelis.agents.endpoint.address import is_address, read_address
from pixelis.errors import ConfigError


@pytest.mark.parametrize(
    "name, model, url, here",
    [
        ("openai:m@http://127.0.0.1:8000", "m", "http://127.0.0.1:8000/v1", True),
        ("openai:m@http://localhost:8000/", "m", "http://localhost:8000/v1", True),
        ("openai:org/name@2@https://api.example.com/openai/v1/", "org/name@2",
         "https://api.example.com/openai/v1", False),
        ("openai:m@http://[::1]:9/v1", "m", "http://[::1]:9/v1", True),
        ("openai:m@http://10.0.0.7:8000/v1", "m", "http://10.0.0.7:8000/v1", False),
    ],
)  # fmt: skip
def test_a_name_is_a_model_and_where_it_is(name, model, url, here):
    address = read_address(name)
    assert (address.model, address.url, address.is_this_machine) == (model, url, here)


@pytest.mark.parametrize(
    "name",
    ["openai:", "openai:m", "openai:m@", "openai:@http://a", "openai:m@ftp://a", "openai:m@http://",
     "openai:m@http://a:port", "openai:m@http://a:99999"],
)  # fmt: skip
def test_what_is_no_name_is_refused_with_the_form(name):
    with pytest.raises(ConfigError, match=r"openai:MODEL@URL, such as"):
        read_address(name)


@pytest.mark.parametrize(
    "url",
    ["http://user:pass@host/v1", "https://host/v1?key=pass", "https://host/v1#pass", "http://pass@host"],
)
def test_a_url_with_a_secret_is_refused_and_not_repeated(url):
    with pytest.raises(ConfigError) as caught:
        read_address(f"openai:m@{url}")
    assert "pass@" not in str(caught.value) and "=pass" not in str(caught.value)


@given(st.text(max_size=60))
def test_no_text_does_more_than_name_or_be_refused(text):
    name = f"openai:{text}"
    assert is_address(name)
    try:
        address = read_address(name)
    except ConfigError:
        return
    assert address.model and address.url.startswith("http")
