"""A profile as pictures, tables and a page. What it is on a terminal stands in views/profile_text.py."""
