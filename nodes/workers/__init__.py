"""Work on several GPUs: Ray runs workers, each with a ComfyUI of its own."""
