"""Learning problems with exact parameters, and their equations in ball arithmetic."""
