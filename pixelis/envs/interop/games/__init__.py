"""Games for one player of TextArena and GEM."""
