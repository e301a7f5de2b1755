"""Every shipped model trained on Gaussian-equivalent data."""
