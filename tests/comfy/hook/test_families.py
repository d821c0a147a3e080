"""One contract for every model family, on tiny random instances of ComfyUI's real classes."""

import itertools
from pathlib import Path

import pytest
import torch
from comfy_extras.nodes_flux import FluxKVCache
from golden_path_pack.gph_core.model import families
from golden_path_pack.gph_core.policies.extrapolation import Reuse, Taylor, TokenTaylor
from golden_path_pack.gph_core.policies.two_anchor import TwoAnchor
from golden_path_pack.gph_core.run_plan import fixed
from golden_path_pack.gph_core.schedule import Schedule
from golden_path_pack.nodes.hook import patching

from ...support.comfy import tiny
from ...support.zoo import zoo
from ...support.zoo.zoo_all import BATCH_OF_ONE, CASES, FAMILIES

pytestmark = pytest.mark.by_turns


@pytest.fixture(scope="module", params=CASES.values(), ids=CASES.keys())
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


def attach(model, schedule, policy=None, listener=None):
    plan = fixed(Schedule.parse(schedule), policy or Reuse())
    return patching.attach(model, plan, listener or tiny.Listener())


def same(one, other):
    return all(torch.equal(a, b) for a, b in zip(one, other, strict=True))


def counted(model, sample):
    """Calls of blocks with the image, and of what runs beside them, in a sampling run."""
    transformer = model.model.diffusion_model
    family = families.detect(transformer)
    transformer = transformer.get_submodule(family.inside)
    calls = []
    blocks = [block for name in family.block_lists for block in getattr(transformer, name)]
    beside = [
        module
        for name in ("vace_blocks", "audio_injector", "face_adapter", "music_injector")
        if hasattr(transformer, name)
        for module in getattr(transformer, name).modules()
    ]

    def note(_module, args):
        if family.prefix is None or args[family.prefix] < args[family.image].shape[1]:
            calls.append(1)

    hooks = [module.register_forward_pre_hook(note) for module in (*blocks, *beside)]
    try:
        sample()
    finally:
        for hook in hooks:
            hook.remove()
    return len(calls)


def test_the_family_is_recognised(case, model):
    assert families.detect(model.model.diffusion_model).name == case.family


def test_full_steps_are_bit_identical(case, model):
    states = {}

    def keep(name):
        return lambda step, x0, x, total: states.setdefault(name, []).append(zoo.streams(x0))

    plain = zoo.sample(case, model, steps=4, callback=keep("plain"))
    assert same(zoo.sample(case, attach(model, "0-3/4"), steps=4), plain)
    # In a cached run they go through the recorders: the first two states are those of a full run.
    zoo.sample(case, attach(model, "0,1/4"), steps=4, callback=keep("cached"))
    matches = [same(a, b) for a, b in zip(states["plain"], states["cached"], strict=True)]
    assert matches == [True, True, False, False]


@pytest.mark.parametrize("case", FAMILIES.values(), ids=FAMILIES.keys())
def test_full_steps_are_bit_identical_in_bfloat16(case):
    model = zoo.build(case, torch.bfloat16)
    plain = zoo.sample(case, model, steps=2)
    assert same(zoo.sample(case, attach(model, "0,1/2"), steps=2), plain)
    listener = tiny.Listener()
    cached = zoo.sample(case, attach(model, "0/2", listener=listener), steps=2)
    assert all(part.isfinite().all() for part in cached)
    assert listener.records[0].cached_steps == (1,)


@pytest.mark.parametrize("tokens", [(5, 5), (5, 8)], ids=["equal", "different"])
def test_no_block_runs_on_cached_steps(case, model, tokens):
    listener = tiny.Listener()
    full = counted(model, lambda: zoo.sample(case, model, steps=4, tokens=tokens))
    patched = attach(model, "0,2/4", listener=listener)
    cached = counted(model, lambda: zoo.sample(case, patched, steps=4, tokens=tokens))
    assert full > 0
    assert cached == full / 2
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


@pytest.fixture(scope="module")
def levels(case, model):
    """Four steps at nearly one noise level, on which the model gives nearly the same four times.

    A mixture of experts may switch between two levels; then the next level is taken. Ideogram 4
    tells even such levels apart; then closer ones are taken.
    """
    for gap, top in itertools.product((1e-6, 4e-7), zoo.sigmas(model, 4)[1:4].tolist()):
        close = torch.tensor([top * (1 - n * gap) for n in range(5)])
        steps = predictions(case, model, close)
        if max(distance(a, b) for a, b in itertools.pairwise(steps)) < 1e-3:
            return close
    raise AssertionError("no noise level at which the model is continuous")


@pytest.mark.parametrize("policy", [Reuse(), TwoAnchor(), TokenTaylor()], ids=str)
def test_a_cached_step_at_unchanged_input_is_the_full_step(case, model, levels, policy):
    # What was lost or counted twice would be of the order of the prediction itself.
    full = predictions(case, attach(model, "0-3/4", policy), levels)[3]
    cached = predictions(case, attach(model, "0-2/4", policy), levels)[3]
    assert distance(cached, full) < 1e-2  # second order amplifies up to seven times


@pytest.mark.parametrize(
    "case",
    [c for c in CASES.values() if c.name not in BATCH_OF_ONE],
    ids=lambda c: c.name,
)
def test_a_batch_is_sampled_like_its_images(case):
    model = zoo.build(case)
    whole = zoo.sample(case, attach(model, "0,2/4"), steps=4, batch=2)
    for item in range(2):
        alone = zoo.sample(case, attach(model, "0,2/4"), steps=4, batch=2, item=item)
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
        runs.append(predictions(case, attach(patched, schedule, policy), close))
    full, cached = runs
    assert distance(cached[2], full[2]) < 1e-2
    assert distance(cached[4], full[4]) < 1e-2


@pytest.mark.parametrize("family", families.FAMILIES, ids=lambda family: family.name)
def test_the_page_on_models_names_every_family(family):
    page = (Path(__file__).parents[3] / "docs" / "models.md").read_text("utf-8")
    row = f"| {family.name} | `{family.transformer.removeprefix('comfy.ldm.')}` |"
    assert row in page
