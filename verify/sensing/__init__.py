"""Training of any model on Gaussian-equivalent data, from the generated functions of tensors."""
