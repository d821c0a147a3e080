"""File formats: JSON lines, safetensors of states, and comparisons of conditions."""
