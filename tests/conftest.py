"""One Hypothesis profile: deterministic, so that a run can be repeated; no deadline, as the first solve compiles."""

from hypothesis import settings

settings.register_profile("repeatable", derandomize=True, deadline=None, max_examples=60)
settings.load_profile("repeatable")
