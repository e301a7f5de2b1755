"""The universality gap: token sequences compared with Gaussian-equivalent data along d."""
