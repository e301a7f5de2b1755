"""Free entropy, from the replicated action to its stationarity."""
