"""One PDF -> figures with captions and citing paragraphs. Needs the ``build`` extra (PyMuPDF, OpenCV)."""
