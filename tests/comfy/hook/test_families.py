"""model/families: one contract for every family, on tiny instances of the real classes."""

import itertools
from pathlib import Path

import pytest
import torch
from comfy_extras.nodes_flux import FluxKVCache
from golden_path_pack.gph_core.model import families
from golden_path_pack.gph_core.policies.extrapolation import Reuse, Taylor, TokenTaylor
from golden_path_pack.gph_core.policies.two_anchor import TwoAnchor

from ...support.comfy import tiny
from ...support.zoo import zoo
from ...support.zoo.zoo_all import BATCH_OF_ONE, CASES, FAMILIES, SEVERAL, SHAPES, cases

EACH = cases({**FAMILIES, **SHAPES}.values())
OF_EACH_SHAPE = cases(SHAPES.values())
OF_SEVERAL = cases(SEVERAL)
BFLOAT16 = [
    CASES[name]
    for name in ("FLUX dev", "SD3", "HunyuanVideo", "Wan 2.1 1.3B", "LTX-2", "PixelDiT")
    if name in CASES
]


@pytest.fixture(scope="module")
def case(request):
    return request.param


@pytest.fixture(scope="module")
def model(case):
    """The model; of HiDream-O1 with references one that keeps no prefix of its sequence.

    ComfyUI finds a kept prefix by the address of the references, which may have been that of
    others. Whether a run takes one is then chance, and a run with it rounds differently.
    """
    built = zoo.build(case)
    with pytest.MonkeyPatch.context() as patch:
        if case.name == "HiDream-O1, references":
            nothing = property(lambda _: [], lambda _, entries: None)
            patch.setattr(
                type(built.model.diffusion_model), "_kv_cache_entries", nothing, raising=False
            )
        yield built


@pytest.mark.parametrize("case", EACH, indirect=True)
def test_full_steps_are_bit_identical_and_cached_ones_run_no_block(case, model):
    assert families.detect(model.model.diffusion_model).name == case.family
    states, listener = {}, tiny.Listener()

    def sample(name, patched):
        def keep(step, x0, x, total):
            states.setdefault(name, []).append(zoo.streams(x0))

        return zoo.counted(model, lambda: zoo.sample(case, patched, steps=3, callback=keep))

    all_blocks = sample("plain", model)
    assert sample("full", tiny.attach(model, "0-2/3")) == all_blocks > 0
    assert all(map(zoo.same, states["full"], states["plain"]))
    # In a cached run they go through the recorders: the first two states are those of a full run.
    assert sample("cached", tiny.attach(model, "0,1/3", listener=listener)) == all_blocks * 2 / 3
    assert [*map(zoo.same, states["cached"], states["plain"])] == [True, True, False]
    (record,) = listener.records
    assert (record.full_steps, record.cached_steps, record.notes) == ((0, 1), (2,), ())


@pytest.mark.parametrize("case", cases(BFLOAT16, FAMILIES.values()))
def test_full_steps_are_bit_identical_in_bfloat16(case):
    model = zoo.build(case, torch.bfloat16)
    plain = zoo.sample(case, model, steps=2)
    assert zoo.same(zoo.sample(case, tiny.attach(model, "0,1/2"), steps=2), plain)
    listener = tiny.Listener()
    cached = zoo.sample(case, tiny.attach(model, "0/2", listener=listener), steps=2)
    assert all(part.isfinite().all() for part in cached)
    assert listener.records[0].cached_steps == (1,)


@pytest.mark.parametrize("case", OF_SEVERAL, indirect=True)
def test_no_block_runs_on_cached_steps_whose_prompts_differ_in_length(case, model):
    listener = tiny.Listener()
    full = zoo.counted(model, lambda: zoo.sample(case, model, steps=2, tokens=(5, 8)))
    patched = tiny.attach(model, "0,2/4", listener=listener)
    cached = zoo.counted(model, lambda: zoo.sample(case, patched, steps=4, tokens=(5, 8)))
    assert cached == full
    (record,) = listener.records
    assert (record.full_steps, record.cached_steps, record.notes) == ((0, 2), (1, 3), ())


def predictions(case, model, levels):
    """What each step of a run on these noise levels takes for the final latents."""
    found = []
    zoo.sample(
        case, model, steps=len(levels) - 1, sigmas=levels,
        callback=lambda step, x0, x, total: found.append(zoo.streams(x0)),
    )  # fmt: skip
    return found


def distance(one, other):
    """Largest deviation of a stream, in standard deviations; empty streams (no sound) have none."""
    pairs = [(a, b) for a, b in zip(one, other, strict=True) if a.numel()]
    return max(float((a - b).std() / b.std()) for a, b in pairs)


def unchanged(case, model):
    """Four steps at nearly one noise level, and what the model gives, nearly the same four times.

    A mixture of experts may switch between two levels; then the next level is taken. Ideogram 4
    tells even such levels apart; then closer ones are taken.
    """
    for gap, top in itertools.product((1e-6, 4e-7), zoo.sigmas(model, 4)[1:4].tolist()):
        levels = torch.tensor([top * (1 - n * gap) for n in range(5)])
        steps = predictions(case, model, levels)
        if max(distance(a, b) for a, b in itertools.pairwise(steps)) < 1e-3:
            return levels, steps
    raise AssertionError("no noise level at which the model is continuous")


@pytest.mark.parametrize("case", OF_EACH_SHAPE, indirect=True)
def test_a_cached_step_at_unchanged_input_is_the_full_step(case, model):
    levels, full = unchanged(case, model)
    for policy in (Reuse(), TwoAnchor(), TokenTaylor()):
        cached = predictions(case, tiny.attach(model, "0-2/4", policy), levels)
        # What was lost or counted twice would be of the order of the prediction itself.
        assert distance(cached[3], full[3]) < 1e-2  # second order amplifies up to seven times


@pytest.mark.parametrize(
    "case", [value for value in OF_SEVERAL if value.id not in BATCH_OF_ONE], indirect=True
)
def test_a_batch_is_sampled_like_its_images(case, model):
    whole = zoo.sample(case, tiny.attach(model, "0,2/4"), steps=4, batch=2)
    for item in range(2):
        alone = zoo.sample(case, tiny.attach(model, "0,2/4"), steps=4, batch=2, item=item)
        for one, other in zip(whole, alone, strict=True):
            # Matrix products round differently for another batch size.
            atol = 1e-3 * max(1.0, float(other.std()))
            torch.testing.assert_close(one[item : item + 1], other, rtol=1e-3, atol=atol)


@pytest.mark.parametrize(
    "name", sorted(CASES.keys() & {"FLUX.2 Klein, edit", "Qwen-Image-Edit 2511", "Krea 2, edit"})
)
@pytest.mark.parametrize("policy", [Reuse(), Taylor(1), TwoAnchor()], ids=str)
def test_reference_tokens_may_leave_on_the_way(name, policy):
    # ComfyUI's node for edit models computes them at the first step and remembers their keys.
    case = CASES[name]
    model = zoo.build(case)
    top = float(zoo.sigmas(model, 4)[1])
    close = torch.tensor([top * (1 - n * 1e-6) for n in range(6)])
    runs = []
    for schedule in ("0-4/5", "0,1,3/5"):
        (patched,) = FluxKVCache.execute(model).result
        runs.append(predictions(case, tiny.attach(patched, schedule, policy), close))
    full, cached = runs
    assert distance(cached[2], full[2]) < 1e-2
    assert distance(cached[4], full[4]) < 1e-2


def test_the_page_on_models_names_every_family():
    page = (Path(__file__).parents[3] / "docs" / "models.md").read_text("utf-8")
    rows = (
        f"| {f.name} | `{f.transformer.removeprefix('comfy.ldm.')}` |" for f in families.FAMILIES
    )
    assert [row for row in rows if row not in page] == []
