"""What empirical risk minimisation learns in a single tied attention head: what the command lines of all packages share."""
