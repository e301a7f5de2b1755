"""Points of a learning curve with proven digits: the reduced saddle point in ball arithmetic."""
