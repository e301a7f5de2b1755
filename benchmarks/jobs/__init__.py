"""Benchmarks of what runs for minutes: training, batches of it, sweeps, the main job."""
