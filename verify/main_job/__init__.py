"""The main job: studies at the settings of the paper, with one verdict and one report."""
