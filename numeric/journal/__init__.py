"""How figures look in a journal: one style, captions that state the settings."""
