"""The families of sites; importing this registers them."""

from pixelis.envs.web.families import bulk, calendar, forms, mail, settings, shop, table, wiki

__all__ = ["bulk", "calendar", "forms", "mail", "settings", "shop", "table", "wiki"]
