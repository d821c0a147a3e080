"""The demo model: what it is trained on, how, its weights, and the demo that runs it in ComfyUI."""
