"""model/surgery: a run of video with sound keeps both, and a cached step predicts both."""

import pytest
import torch

from ...support.comfy import tiny
from ...support.zoo import zoo
from ...support.zoo.zoo_all import CASES

PROMPTS, FLOAT = 2, 4
# Tokens and their width in the zoo. MiniMax H3 takes 2 x 2 places of a frame for a token.
LTX_VIDEO, LTX_SOUND = (3 * 4 * 4) * 48, 6 * 24
MINIMAX = (5 + 3 * 2 * 2 + 2 * 5) * 48  # text, video and sound are one sequence


KEPT = {
    "LTX-2": LTX_VIDEO + LTX_SOUND, "LTX-2 without sound": LTX_VIDEO, "MiniMax H3": MINIMAX,
}  # fmt: skip


# Those of this ComfyUI: 0.24.1 has no MiniMax H3, nor has 0.26.0.
@pytest.mark.parametrize(("name", "kept"), [item for item in KEPT.items() if item[0] in CASES])
def test_a_residual_of_video_and_of_sound_is_kept_for_each_prompt(name, kept):
    case, listener = CASES[name], tiny.Listener()
    model = zoo.build(case)
    patched = tiny.attach(model, "0,2/4", listener=listener)
    found = []
    blocks = zoo.counted(model, lambda: found.extend(zoo.sample(case, patched, steps=4)))
    assert listener.records[0].cache_bytes == PROMPTS * kept * FLOAT
    assert blocks == zoo.counted(model, lambda: zoo.sample(case, model, steps=2))
    for cached, full in zip(found, zoo.sample(case, model, steps=4), strict=True):
        # Neither stream was computed at the cached steps, and neither was lost.
        assert cached.isfinite().all()
        if full.numel():
            assert not torch.equal(cached, full)
            assert (cached - full).std() < full.std()
