"""From the replicated action to the free entropy and its stationarity."""
