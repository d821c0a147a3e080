"""The demo's video model: ComfyUI's own Wan class at toy size, its training and its measurement."""
