"""The contract of environments, for WebBrowse over all families."""

from __future__ import annotations

from pixelis.envs.check.tests import EnvContractTests
from pixelis.envs.web.browse.env import WebBrowseEnv


class TestWebBrowse(EnvContractTests):
    seeds = range(8)

    def make_env(self, **keywords):
        return WebBrowseEnv(**keywords)
