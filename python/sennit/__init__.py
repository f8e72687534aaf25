"""The command line of sennit, and the readers and views of the documents that its C++ programs print."""

__version__ = "0.1.0"
