"""Points of a learning curve with proven digits, from the saddle point in ball arithmetic."""
