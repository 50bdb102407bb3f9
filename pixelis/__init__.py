"""Pixelis: Gymnasium environments in which language and vision-language models act, and agents that learn.

``import pixelis`` registers the environments and loads plugins. It stays light: no torch, OpenCV.
"""

from __future__ import annotations

from pixelis.envs.registration import load_plugins, register_environments

__version__ = "0.1.0"

register_environments()
load_plugins()
