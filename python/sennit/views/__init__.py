"""Views of documents: pure functions from a document to text, a table, a picture or a page."""
