"""Many runs: stored as they finish, spread over the cores."""
