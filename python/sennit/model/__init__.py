"""The documents that the C++ programs print, as validated values. One file a document."""
