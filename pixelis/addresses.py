"""Addresses of servers: whether they are of this machine, and how they are shown."""

from __future__ import annotations

import ipaddress


def is_this_machine(host: str) -> bool:
    """Return whether a host, by name or number, is this machine by its loopback."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def without_secrets(url: str) -> str:
    """Return a URL without what stands between ``//`` and the last ``@``, or behind ``?``.

    A password may hold anything, also in a URL that is none for it.
    """
    head, slashes, rest = url.partition("//")
    return head + slashes + rest.rpartition("@")[2].partition("?")[0]
