"""No physics, nothing generated: fixed points, roots, arclength, balls, compiled kernels."""
