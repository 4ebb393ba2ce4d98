"""Sample papers, made by the project itself, with exact truth. Needs the extras ``build`` and ``plots``."""
