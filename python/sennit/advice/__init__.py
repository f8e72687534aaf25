"""What to do about where a program's time goes, from its profile and what is known of the machine: pure functions."""
