"""The executable contract of environments: `check_env`, `tests.EnvContractTests`, and the command."""

from pixelis.envs.check.check import CLAUSES, CheckReport, check_env, main, make_env

__all__ = ["CLAUSES", "CheckReport", "check_env", "main", "make_env"]
