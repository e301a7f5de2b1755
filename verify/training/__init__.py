"""One trained head: data, risk, minimiser, and what is measured of it."""
