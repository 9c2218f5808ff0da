"""Labels to a stored model to suggestions: train, update, score new photos, explain, evaluate, what to label next."""
