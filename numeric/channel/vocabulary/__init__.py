"""Channel average of samples whose tokens come from a finite vocabulary."""
