"""A sandbox for candidates' code that needs no root, Docker or service (docs/reference/coding_sandbox.md).

It returns claimed outputs, never a verdict, and knows nothing of problems, expected values or rewards.
"""

from pixelis.envs.coding.sandbox.codec import CodecError, decode, encode
from pixelis.envs.coding.sandbox.jobs import Call, CallResult, Job, JobResult, Limits, SandboxSettings
from pixelis.envs.coding.sandbox.sandbox import Sandbox

__all__ = [
    "Call",
    "CallResult",
    "CodecError",
    "Job",
    "JobResult",
    "Limits",
    "Sandbox",
    "SandboxSettings",
    "decode",
    "encode",
]
