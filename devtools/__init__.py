"""Parts of ``dev.py``: standard library only, for Windows, macOS and Linux."""
