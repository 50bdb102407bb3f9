"""The families of sites; importing this registers them."""

from pixelis.envs.web.families import bulk, forms, mail, settings, shop, table

__all__ = ["bulk", "forms", "mail", "settings", "shop", "table"]
