"""Searches on several GPUs: workers, each a ComfyUI of its own, that Ray runs."""
