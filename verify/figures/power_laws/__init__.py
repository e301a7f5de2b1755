"""Figures of power-law targets: one file for each command under verify/cli/power_laws."""
