"""Connection to a ComfyUI model: wrappers, branches, compatibility, fingerprints."""
