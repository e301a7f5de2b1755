"""Are error bars and statuses honest?

Random problems of every model, solved, solved again with ten times the work, and trained.
"""
