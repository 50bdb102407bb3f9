"""The contract of CodeProblem in its modes."""

from __future__ import annotations

from pixelis.envs.check.tests import EnvContractTests
from pixelis.envs.coding.code_problem.env import CodeProblemEnv


class TestCodeProblem(EnvContractTests):
    seeds = range(4)

    def make_env(self, **keywords):
        return CodeProblemEnv(**keywords)


class TestCodeProblemWithTools(EnvContractTests):
    seeds = range(3)

    def make_env(self, **keywords):
        return CodeProblemEnv(mode="multi", **keywords)
