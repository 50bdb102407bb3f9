"""The families of sites; importing this registers them."""

from pixelis.envs.web.families import settings, shop, table

__all__ = ["settings", "shop", "table"]
