"""The six saddle-point equations: written as a map, solved, judged."""
