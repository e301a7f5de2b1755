"""What the tests would miss: the code is changed in one place, and tests that run that place, or proofs, have to fail."""
