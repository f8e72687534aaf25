"""Starting other programs: sennit's own in C++, launchers of ranks; where they are, and what users are told."""
