"""Studies: spectra, error parts, optimal weight decay, Bayes optimum, scaling laws."""
