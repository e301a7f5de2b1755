"""Commands about power-law targets at large d."""
