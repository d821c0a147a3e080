"""hook/patching: LoRA, low-precision weights, weights that are not all loaded."""

import comfy.hooks
import comfy.model_patcher
import comfy.sample
import comfy.sd
import pytest
import torch
from golden_path_pack.gph_core.policies.two_anchor import TwoAnchor

from ...support.comfy import tiny
from ...support.comfy.loras import LAYER, lora, tensors

SCHEDULE = "0,1,4/8"


def test_a_lora_before_or_after_the_node_gives_what_changed_weights_give():
    model = tiny.flux()
    before = tiny.sample(tiny.attach(lora(model), SCHEDULE))
    after = tiny.sample(lora(tiny.attach(model, SCHEDULE)))
    assert torch.equal(before, after)
    merged = tiny.flux()
    up, down = tensors(merged).values()
    with torch.no_grad():
        merged.model.get_submodule(LAYER).weight.add_(up @ down)
    expected = tiny.sample(tiny.attach(merged, SCHEDULE))
    torch.testing.assert_close(before, expected, rtol=1e-4, atol=1e-4)
    assert not torch.equal(before, tiny.sample(tiny.attach(model, SCHEDULE)))


def test_a_lora_may_come_and_go_between_runs():
    model = tiny.flux()
    plain = tiny.attach(model, SCHEDULE)
    with_lora = lora(plain)
    first, changed = tiny.sample(plain), tiny.sample(with_lora)
    assert not torch.equal(first, changed)
    assert torch.equal(tiny.sample(plain), first)
    assert torch.equal(tiny.sample(with_lora), changed)


def test_a_lora_that_changes_its_strength_on_the_way_forces_a_full_step():
    model, listener = tiny.flux(), tiny.Listener()
    hooks = comfy.hooks.create_hook_lora(tensors(model), strength_model=1.0, strength_clip=0.0)
    keyframes = comfy.hooks.HookKeyframeGroup()
    for start, strength in ((0.0, 1.0), (0.45, 0.2)):
        keyframes.add(comfy.hooks.HookKeyframe(strength=strength, start_percent=start))
    hooks.set_keyframes_on_hooks(keyframes)
    prompts = [comfy.hooks.set_hooks_for_conditioning(tiny.conditioning(s), hooks) for s in (1, 2)]
    latent = torch.zeros(1, 16, 8, 8)
    with torch.inference_mode():
        comfy.sample.sample(
            tiny.attach(model, "0/8", listener=listener),
            comfy.sample.prepare_noise(latent, seed=1), 8, 3.0, "euler", "simple", *prompts,
            latent, disable_pbar=True, seed=1,
        )  # fmt: skip
    (record,) = listener.records
    switch = model.get_model_object("model_sampling").percent_to_sigma(0.45)
    changed = next(n for n, sigma in enumerate(record.sigmas) if sigma <= switch)
    assert record.full_steps == (0, changed)


@pytest.mark.parametrize("policy", [None, TwoAnchor()], ids=["reuse", "two-anchor"])
def test_low_precision_weights_cache_in_the_computing_precision(policy):
    model = tiny.flux(torch.float8_e4m3fn, compute=torch.bfloat16)
    assert model.model.diffusion_model.double_blocks[1].img_mlp[0].weight.dtype.itemsize == 1
    plain = tiny.sample(model)
    assert plain.isfinite().all()
    assert torch.equal(tiny.sample(tiny.attach(model, "0-7/8", policy)), plain)
    listener = tiny.Listener()
    found = tiny.sample(tiny.attach(model, SCHEDULE, policy, listener))
    (record,) = listener.records
    assert (record.full_steps, record.notes) == ((0, 1, 4), ())
    # Two prompts, 16 tokens of 64 channels in bfloat16; two-anchor keeps two steps and probes.
    assert record.cache_bytes == 2 * 16 * 64 * 2 * (4 if policy else 1)
    assert 0 < (found - plain).std() < plain.std()


def test_weights_that_are_loaded_in_parts_give_the_same_images(monkeypatch):
    expected = tiny.sample(tiny.attach(lora(tiny.flux()), SCHEDULE))
    whole = comfy.model_patcher.ModelPatcher.partially_load
    monkeypatch.setattr(
        comfy.model_patcher.ModelPatcher,
        "partially_load",
        lambda self, device, extra_memory=0, force_patch_weights=False: whole(
            self, device, 100_000, force_patch_weights
        ),
    )
    model = tiny.flux()
    found = tiny.sample(tiny.attach(lora(model), SCHEDULE))
    assert model.model.model_lowvram  # as with --lowvram
    # A LoRA is added when a layer runs instead of once: it rounds differently.
    torch.testing.assert_close(found, expected, rtol=1e-4, atol=1e-4)
