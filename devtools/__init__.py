"""Parts of ``dev.py``, for Windows, macOS and Linux, and tools that it starts.

Standard library only, except for ``templates``.
"""
