"""Weight decays chosen on held-out samples."""
