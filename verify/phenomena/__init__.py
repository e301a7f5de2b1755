"""What training shows beside errors: the rank of S, and heads that are trained on the sequences they put out."""
