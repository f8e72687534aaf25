"""Comparing measurements: ratios and their noise, two runs of a benchmark, two tables of plans."""
