"""hook/patching: beside nodes that replace attention, such as SageAttention and sparse attention.

Their stand-in halves what attention gives. FLUX hands that to one linear layer in each block, so a
model whose layers have half these weights computes the same, bit for bit: 0.5 is a power of two.
"""

import pytest
import torch
from comfy.patcher_extension import WrappersMP
from golden_path_pack.gph_core.policies.base import Site
from golden_path_pack.gph_core.policies.extrapolation import Reuse, TokenTaylor
from golden_path_pack.gph_core.policies.two_anchor import TwoAnchor

from ...support.comfy import tiny

SCHEDULE = "0-2,5/8"
BLOCKS = 5


class Halved:
    """An attention function that halves ComfyUI's and counts its calls."""

    def __init__(self):
        self.calls = 0

    def __call__(self, func, *args, **kwargs):
        self.calls += 1
        return func(*args, **kwargs) * 0.5


def by_option(model, override):
    """As most packs do: set once, on a clone."""
    clone = model.clone()
    clone.model_options["transformer_options"]["optimized_attention_override"] = override
    return clone


def by_function_wrapper(model, override):
    """Set anew in each call, by the one function that ComfyUI lets a node put around the model."""

    def wrapper(apply_model, args):
        options = args["c"]["transformer_options"] | {"optimized_attention_override": override}
        return apply_model(
            args["input"], args["timestep"], **(args["c"] | {"transformer_options": options})
        )

    clone = model.clone()
    clone.set_model_unet_function_wrapper(wrapper)
    return clone


def by_wrapper_of_the_transformer(model, override):
    """Set anew in each call, by a wrapper right around the transformer."""

    def wrapper(executor, *args, **kwargs):
        for options in (*args, *kwargs.values()):
            if isinstance(options, dict) and "sample_sigmas" in options:
                options["optimized_attention_override"] = override
        return executor(*args, **kwargs)

    clone = model.clone()
    clone.add_wrapper_with_key(WrappersMP.DIFFUSION_MODEL, "sparse", wrapper)
    return clone


WAYS = [by_option, by_function_wrapper, by_wrapper_of_the_transformer]


@pytest.fixture(scope="module")
def halved():
    """A model that computes with its own weights what the stand-in makes of the tiny FLUX."""
    model = tiny.flux()
    transformer = model.model.diffusion_model
    with torch.no_grad():
        for block in transformer.double_blocks:
            for stream in (block.img_attn, block.txt_attn):
                stream.proj.weight.mul_(0.5)
        for block in transformer.single_blocks:
            block.linear2.weight[:, : transformer.hidden_size].mul_(0.5)
    return model


@pytest.mark.parametrize(
    ("way", "policy"),
    [
        (by_option, Reuse()), (by_option, TokenTaylor()), (by_function_wrapper, TwoAnchor()),
        (by_function_wrapper, Reuse(Site.GUIDED)), (by_wrapper_of_the_transformer, TwoAnchor()),
        (by_wrapper_of_the_transformer, Reuse(Site.OUTPUT)),
    ],
    ids=lambda value: getattr(value, "__name__", str(value)),
)  # fmt: skip
def test_an_attention_pack_before_or_after_the_cache_gives_what_changed_weights_give(
    model, halved, way, policy
):
    expected = tiny.sample(tiny.attach(halved, SCHEDULE, policy))
    overrides, listener = (Halved(), Halved()), tiny.Listener()
    before = tiny.sample(tiny.attach(way(model, overrides[0]), SCHEDULE, policy, listener))
    after = tiny.sample(way(tiny.attach(model, SCHEDULE, policy), overrides[1]))
    # Both prompts are one call; of cached steps a look alone calls attention, in the first block.
    calls = 4 * BLOCKS + (4 if policy == TwoAnchor() else 0)
    assert [override.calls for override in overrides] == [calls] * 2
    assert listener.records[0].full_steps == (0, 1, 2, 5)
    assert torch.equal(before, expected)
    assert torch.equal(after, expected)
    assert not torch.equal(expected, tiny.sample(tiny.attach(model, SCHEDULE, policy)))


def predictions(model):
    """What the sampler was told at each step, with the sample."""
    found = []
    sample = tiny.sample(model, callback=lambda step, denoised, x, steps: found.append(denoised))
    return [*found, sample]


@pytest.mark.parametrize("way", WAYS)
def test_full_steps_are_those_of_the_pack_without_the_cache(model, reference, way):
    plain = predictions(way(model, Halved()))
    assert not torch.equal(plain[-1], reference)
    full = predictions(tiny.attach(way(model, Halved()), "0-7/8"))
    assert all(torch.equal(a, b) for a, b in zip(full, plain, strict=True))
    cached = predictions(tiny.attach(way(model, Halved()), SCHEDULE))
    same = [torch.equal(a, b) for a, b in zip(cached, plain, strict=True)]
    assert same == [True] * 3 + [False] * 6


def test_attention_that_becomes_sparse_on_the_way_acts_at_full_steps(model):
    # Dense until a noise level, then another attention: what it changes reaches the image at the
    # next full step, and the cached steps before that are still the dense ones'.
    def sparse_below(sigma):
        def override(func, *args, **kwargs):
            is_sparse = float(kwargs["transformer_options"]["sigmas"][0]) < sigma
            return func(*args, **kwargs) * (0.5 if is_sparse else 1.0)

        return override

    listener = tiny.Listener()
    dense = predictions(tiny.attach(model, SCHEDULE, listener=listener))
    sigmas = listener.records[0].sigmas
    for late in (3, 4, 5):
        pack = by_option(model, sparse_below((sigmas[late - 1] + sigmas[late]) / 2))
        found = predictions(tiny.attach(pack, SCHEDULE))
        same = [torch.equal(a, b) for a, b in zip(found, dense, strict=True)]
        assert same == [True] * 5 + [False] * 4
