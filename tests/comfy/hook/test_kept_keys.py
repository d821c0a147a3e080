"""model/surgery: what Qwen-Image 2.1 keeps of its prompts stays under cached steps."""

import pytest
import torch
from golden_path_pack.gph_core.policies.extrapolation import Reuse, TokenTaylor
from golden_path_pack.gph_core.policies.two_anchor import TwoAnchor
from golden_path_pack.nodes.hook import patching

from ...support.comfy import tiny
from ...support.comfy.gated import plan
from ...support.zoo import prefixed, zoo
from ...support.zoo.zoo_all import CASES

CASE = CASES["Qwen-Image 2.1, references"]
IMAGE, REFERENCES, PROMPTS = 16, 6 + 4, (5, 8)
PROBED = TwoAnchor()  # it runs the first block on cached steps
stand_in_only = pytest.mark.skipif(prefixed.IS_REAL, reason="how much room there is, is ComfyUI's")


class Watched:
    """A model, and the calls of its first block at each step: all tokens, and those in front."""

    def __init__(self):
        self.model = zoo.build(CASE)
        self.transformer = self.model.model.diffusion_model
        self.calls = [[]]
        self.transformer.transformer_blocks[0].register_forward_pre_hook(
            lambda _, args: self.calls[-1].append((args[0].shape[1], args[4]))
        )

    def sample(self, model=None, after=lambda step: None, steps=4):
        def callback(step, *_):
            self.calls.append([])
            after(step)

        return zoo.sample(
            CASE, model or self.model, steps=steps, tokens=PROMPTS, cfg=3.0, callback=callback
        )


@pytest.mark.parametrize(("schedule", "full"), [("0-3/4", (0, 1, 2, 3)), ("0,2/4", (0, 2))])
def test_keys_are_made_at_the_first_step_and_read_at_every_full_one(schedule, full):
    watched = Watched()
    watched.sample(tiny.attach(watched.model, schedule))
    prompts = [(count + REFERENCES, count + REFERENCES) for count in PROMPTS]
    images = [(IMAGE, 0)] * len(PROMPTS)
    assert sorted(watched.calls[0]) == sorted(prompts + images)
    assert watched.calls[1:4] == [images if step in full else [] for step in (1, 2, 3)]


@pytest.mark.parametrize("policy", [Reuse(), PROBED], ids=str)
def test_a_cached_step_does_not_look_for_keys(policy, monkeypatch):
    watched, looks = Watched(), [0]

    def after(step):
        if step == 0:
            kind = type(watched.transformer.prefix_cache)
            select = kind.select

            def noted(*args, **kwargs):
                looks[-1] += 1
                return select(*args, **kwargs)

            monkeypatch.setattr(kind, "select", noted)
        looks.append(0)

    watched.sample(tiny.attach(watched.model, "0,1,3/4", policy), after)
    assert looks[1:4] == [2, 0, 2]  # of two prompts


@stand_in_only
def test_a_cached_step_keeps_no_keys_where_there_was_no_room(monkeypatch):
    # Without blocks they need none, but the next full step would fill what it finds.
    monkeypatch.setattr(prefixed.Prefixed, "free_bytes", 1)
    watched, kept = Watched(), []
    watched.sample(
        tiny.attach(watched.model, "0,2/4"),
        lambda step: kept.append(watched.transformer.prefix_cache),
    )
    assert kept == [None] * 4


def hands_on(args, extra):
    """A replacement that runs the block; with one, ComfyUI keeps no keys."""
    return extra["original_block"](args)


@pytest.mark.parametrize("policy", [Reuse(), TokenTaylor(), PROBED], ids=str)
def test_a_cached_run_is_the_same_with_kept_keys_and_without(policy):
    watched = Watched()
    kept = watched.sample(tiny.attach(watched.model, "0-2,4/5", policy), steps=5)
    assert watched.calls[4] == [(IMAGE, 0)] * 2
    replaced = watched.model.clone()
    replaced.set_model_patch_replace(hands_on, "dit", "single_block", 0)
    watched.calls = [[]]
    found = watched.sample(tiny.attach(replaced, "0-2,4/5", policy), steps=5)
    whole = [(count + REFERENCES + IMAGE, count + REFERENCES) for count in PROMPTS]
    assert sorted(watched.calls[4]) == sorted(whole)
    torch.testing.assert_close(found, kept, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("name", ["First Block Cache", "TeaCache", "SeaCache"])
def test_a_gate_compares_the_image_alone(name):
    # A cached step sends the whole sequence to the gate, a full one that reads keys the image.
    watched, listener = Watched(), tiny.Listener()
    zoo.sample(CASE, patching.attach(watched.model, plan(name, CASE, 1e3), listener), steps=8)
    (record,) = listener.records
    assert record.cached_steps
