"""Message passing step by step beside its state evolution, for the risk and for the Bayes optimum."""
