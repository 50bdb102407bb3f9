"""What both ends of the sandbox agree on. Standard library only; imports on every platform."""

from __future__ import annotations

ORDER = (
    "session",
    "rlimits",
    "subreaper",
    "parent_death_signal",
    "undumpable",
    "capabilities_dropped",
    "no_new_privs",
    "landlock",
    "landlock_truncate",
    "seccomp",
)
"""Every layer there is on Linux, in the order they are entered."""

HARDENING = ("namespaces", "private_root", "pid_namespace")
"""What ``isolation="hardened"`` adds."""

PATIENCE = 4
"""Times the wall limit, when the candidate spends the rest of it waiting for a processor."""
