"""Judges whose scores are known by hand."""

from golden_path_pack.gph_core.quality.semantic.guard import Guard
from golden_path_pack.nodes.semantic.judges import SemanticMetrics


class Brightness:
    """Judge that gives an image a hundred times its mean value; keeps the prompts it was given.

    Args:
        rows: of the image that count; all if none are given.
    """

    def __init__(self, fingerprint="bright", rows=None):
        self.fingerprint, self.rows = fingerprint, rows
        self.prompts = []

    def score(self, image, prompt):
        assert image.ndim == 4
        assert image.shape[-1] == 3
        self.prompts.append(prompt)
        return 100 * float(image[:, : self.rows].mean())


def semantic(judge=None, prompt="a lamp", limit=0.5, key="clip_score"):
    """What *Semantic Metrics* hands out with such a judge."""
    changes = {"clip_score": "clip_change", "image_reward": "reward_change"}
    return SemanticMetrics({key: judge or Brightness()}, prompt, Guard({changes[key]: limit}))
