"""The families of sites; importing this registers them."""

from pixelis.envs.web.families import shop

__all__ = ["shop"]
