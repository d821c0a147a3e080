"""Connection to ComfyUI's models: wrappers, branches, compatibility, fingerprints."""
