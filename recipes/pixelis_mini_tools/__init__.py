"""How ``pixelis-mini-tools`` is made: pixelis-mini learns to play pixel environments by what tools say."""
