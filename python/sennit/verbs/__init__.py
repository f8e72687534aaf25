"""The verbs of the command line: options in, a program run, a view out."""
