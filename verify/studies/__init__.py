"""What is trained and compared to answer one question."""
