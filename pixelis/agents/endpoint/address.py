"""``openai:MODEL@URL``: which model, and where it is served."""

from __future__ import annotations

from dataclasses import dataclass
from urllib.parse import urlsplit

from pixelis.addresses import is_this_machine, without_secrets
from pixelis.errors import ConfigError

PREFIX = "openai:"
_FORM = f"{PREFIX}MODEL@URL, such as {PREFIX}my-model@http://127.0.0.1:8000/v1"


@dataclass(frozen=True)
class Address:
    """A model at an address.

    Attributes:
        model: as the server knows it.
        url: up to the ``/v1`` that comes before ``/chat/completions``.
    """

    model: str
    url: str

    @property
    def is_this_machine(self) -> bool:
        """Whether the server is on this machine, and so may go without a key."""
        return is_this_machine(urlsplit(self.url).hostname or "")


def is_address(name: str) -> bool:
    """Return whether the name of an agent means a model at an address."""
    return name.startswith(PREFIX)


def read_address(name: str) -> Address:
    """Return what a name means; without a path, ``/v1`` is meant.

    Raises:
        ConfigError: it is not of that form, or the URL holds what belongs into no file.
    """
    model, _, url = name.removeprefix(PREFIX).partition("@http")
    url = f"http{url}"
    try:
        parts = urlsplit(url)
        known = parts.scheme in ("http", "https") and bool(parts.hostname) and (parts.port or 1) > 0
        if not model or not known:
            raise ValueError
    except ValueError:  # such as a port that is no number
        raise ConfigError(f"a model at an address is named {_FORM}; got {without_secrets(name)!r}") from None
    if parts.username or parts.password or parts.query or parts.fragment:
        raise ConfigError(
            f"the URL of {PREFIX}{model} must hold neither user, password nor query, as it is written into "
            "files; give the key by an environment variable (endpoint.key_env)"
        )
    path = parts.path.rstrip("/")
    return Address(model, f"{parts.scheme}://{parts.netloc}{path or '/v1'}")
