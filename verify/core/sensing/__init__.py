"""Training on Gaussian-equivalent data: linear measurements of S by Gaussian matrices."""
