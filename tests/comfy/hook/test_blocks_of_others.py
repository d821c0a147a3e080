"""model/stand_ins: packs that run the blocks in another way, or look at them in each call."""

import types

import pytest
import torch
from comfy.patcher_extension import WrappersMP
from golden_path_pack.gph_core.model.replacements import OTHER_BATCH
from golden_path_pack.gph_core.model.stand_ins import RAN
from golden_path_pack.gph_core.policies.extrapolation import Reuse
from golden_path_pack.gph_core.policies.two_anchor import TwoAnchor
from golden_path_pack.nodes.hook.branch_calls import WITHOUT_BLOCKS

from ...support.comfy import tiny

POLICIES = [Reuse(), TwoAnchor()]
EVERY = tuple(range(8))


@pytest.fixture
def model():
    return tiny.flux()


def run(model, policy, schedule="0,1,4/8", cfg=1.0):
    listener = tiny.Listener()
    found = tiny.sample(tiny.attach(model, schedule, policy, listener), cfg=cfg)
    (record,) = listener.records
    return found, record


def with_more_prompts(model, until):
    """The model with a second batch beside its own above a noise level, as guiders for NAG have."""
    transformer = model.model.diffusion_model
    own = transformer.forward

    def forward(self, x, timestep, context, transformer_options, **kwargs):
        if float(transformer_options["sigmas"][0]) < until:
            return own(x, timestep, context, transformer_options=transformer_options, **kwargs)
        more = {name: twice(value) for name, value in kwargs.items()}
        more["transformer_options"] = transformer_options
        return own(*map(twice, (x, timestep, context)), **more)[: len(x)]

    transformer.forward = types.MethodType(forward, transformer)
    return model


def twice(value):
    return torch.cat((value, value)) if isinstance(value, torch.Tensor) else value


@pytest.mark.parametrize("policy", POLICIES, ids=str)
def test_a_batch_that_shrinks_on_the_way_makes_the_step_full(model, policy):
    expected, _ = run(model, policy, schedule="0,1,3,4/8")
    # The noise levels of steps 2 and 3 are 0.90 and 0.84.
    found, record = run(with_more_prompts(model, until=0.87), policy)
    assert (record.full_steps, record.cached_steps) == ((0, 1, 3, 4), (2, 5, 6, 7))
    assert record.notes == (f"steps were computed in full because {OTHER_BATCH}",)
    torch.testing.assert_close(found, expected, rtol=1e-3, atol=1e-4)  # a batch rounds otherwise


@pytest.mark.parametrize("policy", POLICIES, ids=str)
def test_two_prompts_beside_others_in_one_batch_are_cached_together(model, policy):
    expected, _ = run(model, policy, schedule="0-2,4/8", cfg=3.0)
    # What the first step leaves is not kept: only then is it known that there are more.
    found, record = run(with_more_prompts(model, until=0.0), policy, schedule="0-2,4/8", cfg=3.0)
    assert (record.full_steps, record.notes) == ((0, 1, 2, 4), ())
    torch.testing.assert_close(found, expected, rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize("policy", POLICIES, ids=str)
def test_blocks_that_others_run_on_a_cached_step_end_the_caching(model, policy):
    expected = tiny.sample(model, cfg=1.0)
    seen = []

    def wrapper(executor, *args, **kwargs):
        blocks = executor.class_obj.double_blocks
        seen.append(len(blocks))
        if len(blocks) < 2:  # a cached step: this pack runs the second block itself
            tokens, vec = torch.zeros(1, 4, 64), torch.zeros(1, 64)
            pe = executor.class_obj.pe_embedder(torch.zeros(1, 8, 3))
            blocks[1](img=tokens, txt=tokens, vec=vec, pe=pe)
        return executor(*args, **kwargs)

    patched = model.clone()
    patched.add_wrapper_with_key(WrappersMP.DIFFUSION_MODEL, "other", wrapper)
    found, record = run(patched, policy)
    assert torch.equal(found, expected)
    assert record.full_steps == EVERY
    assert record.notes == (f"caching stopped because {RAN}",)
    assert min(seen) < 2


LOOKS = {
    "the last by its number": lambda flux: flux.double_blocks[len(flux.double_blocks) - 1],
    "the last": lambda flux: flux.single_blocks[-1].linear1,
    "a weight": lambda flux: next(flux.double_blocks.parameters()),
    "a part by its name": lambda flux: flux.get_submodule("double_blocks.1.img_mod"),
    "a place by its name": lambda flux: getattr(flux.double_blocks, "0").img_mod,
    "names of modules": lambda flux: dict(flux.named_modules())["single_blocks.2.linear1"],
}
FAILING = {
    "the second of a list": lambda flux: list(flux.double_blocks)[1],
    "the second of a part": lambda flux: flux.double_blocks[0:2][1],
    "one for each": lambda flux: list(zip(flux.double_blocks, (1, 2), strict=True)),
    "the first that comes": lambda flux: next(iter(flux.double_blocks)),
}


def looking(model, look):
    patched = model.clone()

    def wrapper(executor, *args, **kwargs):
        look(executor.class_obj)
        return executor(*args, **kwargs)

    patched.add_wrapper_with_key(WrappersMP.DIFFUSION_MODEL, "other", wrapper)
    return patched


@pytest.mark.parametrize("look", LOOKS)
def test_who_looks_at_a_block_finds_it_on_every_step(model, look):
    expected, _ = run(model, Reuse())
    found, record = run(looking(model, LOOKS[look]), Reuse())
    assert torch.equal(found, expected)
    assert (record.full_steps, record.notes) == ((0, 1, 4), ())


@pytest.mark.parametrize("look", FAILING)
def test_who_fails_where_blocks_are_left_out_gets_full_steps_and_the_reason(model, look):
    found, record = run(looking(model, FAILING[look]), Reuse())
    assert torch.equal(found, tiny.sample(model, cfg=1.0))
    assert record.full_steps == EVERY
    assert record.caching_stopped.startswith(WITHOUT_BLOCKS)


def test_an_error_of_the_model_itself_reaches_the_user(model):
    def fail(flux):
        raise ValueError("theirs")

    with pytest.raises(ValueError, match="theirs"):
        run(looking(model, fail), Reuse())


SETUPS = {name: lambda model, look=look: looking(model, look) for name, look in LOOKS.items()}
SETUPS |= {name: lambda model, look=look: looking(model, look) for name, look in FAILING.items()}
SETUPS["more prompts in a batch"] = lambda model: with_more_prompts(model, until=0.87)


@pytest.mark.parametrize(
    "setup", ["a weight", "the second of a list", "the first that comes", "more prompts in a batch"]
)
def test_all_steps_in_full_and_runs_afterwards_are_those_without_a_cache(model, setup):
    beside = SETUPS[setup](model)
    expected = tiny.sample(beside, cfg=1.0)
    assert torch.equal(run(beside, Reuse(), "0-7/8")[0], expected)
    run(beside, Reuse())
    assert torch.equal(tiny.sample(beside, cfg=1.0), expected)
