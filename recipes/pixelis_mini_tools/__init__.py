"""On the way to ``pixelis-mini-tools``: pixelis-mini learns pixel environments by what their tools say."""
