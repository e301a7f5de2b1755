"""Page and layout of reports."""
