"""Rules made for softmax rows with square loss: two tokens by quadrature, more by sampling."""
