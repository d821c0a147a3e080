"""Examples of the demo model."""

from golden_path_pack.demo import comfy_model
from golden_path_pack.nodes.sample.examples import Example

PROMPTS = ("two red circles", "a large blue square", "green ring above pink cross")


def examples():
    """Three, of the demo model."""
    clip = comfy_model.DemoCLIP()
    away, *toward = (
        clip.encode_from_tokens_scheduled(clip.tokenize(text)) for text in ("", *PROMPTS)
    )
    return tuple(
        Example(prompt, positive, away, seed)
        for seed, (prompt, positive) in enumerate(zip(PROMPTS, toward, strict=True))
    )
