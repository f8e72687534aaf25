"""Charts, one file a kind, as SVG text."""
