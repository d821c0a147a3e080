"""*Golden Path Cache* on ComfyUI's real FLUX class, through its real samplers."""

import contextlib
import gc
import itertools
import types
import weakref

import comfy.controlnet
import comfy.ldm.flux.layers
import comfy.ldm.flux.model
import comfy.model_management
import comfy.sample
import comfy.samplers
import pytest
import torch
from comfy.patcher_extension import WrappersMP
from golden_path_pack.gph_core import families
from golden_path_pack.gph_core.active_run import ActiveRun
from golden_path_pack.gph_core.policies import Hermite, Reuse, Taylor
from golden_path_pack.gph_core.schedule import Schedule
from golden_path_pack.gph_core.surgery import Surgery
from golden_path_pack.nodes import patching

from . import tiny

BLOCKS = (comfy.ldm.flux.layers.DoubleStreamBlock, comfy.ldm.flux.layers.SingleStreamBlock)


class Listener:
    """A reporter that keeps what it is told."""

    def __init__(self):
        self.plans, self.refusals, self.records = [], [], []
        self.planned, self.refused = self.plans.append, self.refusals.append
        self.finished = self.records.append


def attach(model, schedule, policy=None, listener=None):
    plan = patching.CachePlan("Custom", Schedule.parse(schedule), policy or Reuse())
    return patching.attach(model, plan, listener or Listener())


@contextlib.contextmanager
def counted_blocks(monkeypatch):
    """Counts calls of transformer blocks."""
    count = [0]
    with monkeypatch.context() as patch:
        for block in BLOCKS:
            original = block.forward

            def forward(self, *args, _original=original, **kwargs):
                count[0] += 1
                return _original(self, *args, **kwargs)

            patch.setattr(block, "forward", forward)
        yield count


def modules(model):
    return list(model.model.diffusion_model.named_modules())


def assert_same_modules(model, before):
    after = modules(model)
    assert [name for name, _ in after] == [name for name, _ in before]
    assert all(a is b for (_, a), (_, b) in zip(after, before, strict=True))


@pytest.fixture(scope="module")
def model():
    return tiny.flux()


@pytest.fixture(scope="module")
def reference(model):
    return tiny.sample(model)


# --- exactness ---


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16], ids=str)
def test_a_schedule_without_cached_steps_is_bit_identical(dtype):
    model = tiny.flux(dtype)
    plain = tiny.sample(model)
    assert torch.equal(tiny.sample(attach(model, "0-7/8")), plain)


def test_full_steps_of_a_cached_run_are_bit_identical(model):
    states = {}

    def keep(name):
        return lambda step, x0, x, total: states.setdefault(name, []).append(x0.clone())

    tiny.sample(model, callback=keep("plain"))
    tiny.sample(attach(model, "0-4/8"), callback=keep("cached"))
    same = [torch.equal(a, b) for a, b in zip(states["plain"], states["cached"], strict=True)]
    assert same == [True] * 5 + [False] * 3


def test_cached_steps_run_no_block(model, monkeypatch):
    listener = Listener()
    with counted_blocks(monkeypatch) as count:
        tiny.sample(attach(model, "0,1,4/8", listener=listener))
    assert count[0] == 3 * 5  # 2 double and 3 single blocks; both prompts in one batch
    (record,) = listener.records
    assert (record.full_steps, record.cached_steps) == ((0, 1, 4), (2, 3, 5, 6, 7))


def test_a_cached_step_at_unchanged_input_is_the_full_step(model):
    transformer = model.model.diffusion_model
    surgery = Surgery(transformer, families.detect(transformer))
    x = torch.randn(2, 16, 8, 8, generator=torch.Generator().manual_seed(0))
    context, extra = tiny.conditioning(1)[0]
    arguments = (
        x, torch.tensor([0.7, 0.7]), context.repeat(2, 1, 1), extra["pooled_output"].repeat(2, 1),
        torch.tensor([3.5, 3.5]),
    )  # fmt: skip
    with torch.no_grad():
        with surgery.recording():
            full = transformer(*arguments)
        with surgery.adding(surgery.take_residual()):
            cached = transformer(*arguments)
    # Subtracting the input and adding it back rounds twice.
    torch.testing.assert_close(cached, full, rtol=1e-5, atol=1e-5)


def test_reuse_equals_an_independent_computation(model):
    # Euler by hand: the final layer on img_in(x) plus the residual of step 0.
    base = model.model
    flux = base.diffusion_model
    sigmas = comfy.samplers.calculate_sigmas(
        model.get_model_object("model_sampling"), "simple", 4
    ).tolist()
    context, extra = tiny.conditioning(1)[0]
    pooled = extra["pooled_output"]
    x = comfy.sample.prepare_noise(torch.zeros(1, 16, 8, 8), seed=1)
    captured = {}
    first = flux.double_blocks[0].register_forward_pre_hook(
        lambda module, args, kwargs: captured.update(first=kwargs["img"].clone()), with_kwargs=True
    )
    last = flux.final_layer.register_forward_pre_hook(
        lambda module, args: captured.update(last=args[0].clone(), vector=args[1].clone())
    )
    residual = None
    with torch.no_grad():
        for sigma, sigma_next in itertools.pairwise(sigmas):
            out = flux(x, torch.tensor([sigma]), context, pooled, torch.tensor([3.5]))
            if residual is None:
                residual = captured["last"] - captured["first"]
            else:
                out = flux.final_layer(captured["first"] + residual, captured["vector"])
                out = out.view(1, 4, 4, 16, 2, 2).permute(0, 3, 1, 4, 2, 5).reshape(1, 16, 8, 8)
            x = x + (sigma_next - sigma) * out
    first.remove()
    last.remove()
    expected = base.process_latent_out(x)
    found = tiny.sample(attach(model, "0/4"), steps=4, cfg=1.0)
    torch.testing.assert_close(found, expected, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("policy", [Taylor(1), Taylor(2), Hermite(1), Hermite(2)], ids=str)
def test_every_policy_samples_and_differs_from_reuse(model, policy):
    reuse = tiny.sample(attach(model, "0-3,5/8"))
    found = tiny.sample(attach(model, "0-3,5/8", policy))
    assert found.isfinite().all()
    assert not torch.equal(found, reuse)


# --- branches, samplers, sizes ---


def test_separate_and_batched_prompts_agree(model, monkeypatch):
    batched = tiny.sample(attach(model, "0,1,4/8"))
    monkeypatch.setattr(model.model, "memory_required", lambda *args, **kwargs: 2**60)
    separate = tiny.sample(attach(model, "0,1,4/8"))
    # Matrix products round differently for another batch size.
    torch.testing.assert_close(separate, batched, rtol=1e-4, atol=1e-4)


def test_prompts_of_different_length_run_apart_and_cache_apart(model, monkeypatch):
    listener = Listener()
    with counted_blocks(monkeypatch) as count:
        tiny.sample(attach(model, "0,1,4/8", listener=listener), negative_tokens=7)
    assert count[0] == 3 * 5 * 2
    assert listener.records[0].notes == ()


@pytest.mark.parametrize("schedule", ["0,1,4/8", "0-7/8"])
def test_a_batch_is_sampled_like_its_images(model, schedule):
    noise = torch.randn(3, 16, 8, 8, generator=torch.Generator().manual_seed(5))
    whole = tiny.sample(attach(model, schedule), noise=noise)
    for i in range(3):
        single = tiny.sample(attach(model, schedule), noise=noise[i : i + 1])
        # Matrix products round differently for another batch size.
        torch.testing.assert_close(whole[i : i + 1], single, rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize(
    ("sampler", "full", "calls"),
    [
        ("dpmpp_2m", (0, 1, 4), 3 + 5),
        ("uni_pc", (0, 1, 4), None),
        ("heun", (0, 1, 4), 8 + 7),
        ("euler_ancestral", (0, 1, 4), 3 + 5),
    ],
)
def test_samplers_meet_the_planned_steps(model, sampler, full, calls):
    listener = Listener()
    tiny.sample(attach(model, "0,1,4/8", listener=listener), sampler=sampler)
    (record,) = listener.records
    assert record.full_steps == full
    assert record.cached_steps == tuple(n for n in range(8) if n not in full)
    if calls is not None:
        assert len(record.full_seconds) + len(record.cached_seconds) == calls


def test_evaluations_between_grid_points_are_full(model):
    listener = Listener()
    tiny.sample(attach(model, "0/8", listener=listener), sampler="dpm_2")
    (record,) = listener.records
    # 8 steps on the grid, 7 midpoints (the last step has none).
    assert (len(record.full_seconds), len(record.cached_seconds)) == (1 + 7, 7)
    assert record.notes == ("evaluations between two steps were computed in full",)


# --- no trace, no leftovers ---


def test_runs_do_not_disturb_each_other(model, reference):
    one, other = attach(model, "0,1,4/8"), attach(model, "0,3/8", Taylor(1))
    first, second = tiny.sample(one), tiny.sample(other)
    assert not torch.equal(first, second)
    assert torch.equal(tiny.sample(one), first)
    assert torch.equal(tiny.sample(other), second)
    assert torch.equal(tiny.sample(model), reference)


def test_a_second_cache_node_replaces_the_first(model):
    once = tiny.sample(attach(model, "0,3/8"))
    twice = tiny.sample(attach(attach(model, "0,1,4/8"), "0,3/8"))
    assert torch.equal(twice, once)


def test_sizes_and_step_counts_may_change_between_runs(model):
    patched = patching.attach(
        model, patching.CachePlan("Fast", None, Reuse()), listener := Listener()
    )
    for size, steps in ((8, 20), (12, 10), (8, 20)):
        tiny.sample(patched, size=size, steps=steps)
    assert [len(r.full_steps) for r in listener.records] == [4, 4, 4]


@pytest.mark.parametrize("step", [0, 2, 4])  # full, cached, full
@pytest.mark.parametrize(
    "error", [comfy.model_management.InterruptProcessingException, RuntimeError], ids=str
)
def test_an_interruption_leaves_the_original_model(model, reference, error, step):
    before = modules(model)
    patched = attach(model, "0,1,4/8")
    expected = tiny.sample(patched)

    def interrupt(current, x0, x, total):
        if current == step:
            raise error

    with pytest.raises(error):
        tiny.sample(patched, callback=interrupt)
    assert_same_modules(model, before)
    assert torch.equal(tiny.sample(model), reference)
    assert torch.equal(tiny.sample(patched), expected)


@pytest.mark.parametrize("module", ["double_blocks.1", "final_layer"])
def test_an_error_inside_the_model_leaves_the_original_model(model, reference, module, monkeypatch):
    before = modules(model)
    calls = []

    def fail(*args, **kwargs):
        calls.append(1)
        if len(calls) > 2:  # final layer: step 2 is cached
            raise RuntimeError("broken")
        return original(*args, **kwargs)

    inner = model.model.diffusion_model.get_submodule(module)
    original = inner.forward
    with monkeypatch.context() as patch:
        patch.setattr(inner, "forward", fail)
        with pytest.raises(RuntimeError, match="broken"):
            tiny.sample(attach(model, "0,1,4/8"))
    assert_same_modules(model, before)
    assert torch.equal(tiny.sample(model), reference)


def test_the_module_tree_is_the_original_one_after_a_run(model):
    before = modules(model)
    tiny.sample(attach(model, "0,1,4/8"))
    assert_same_modules(model, before)


def test_a_patched_clone_is_freed_without_the_garbage_collector(model):
    # ComfyUI reports clones that wait for the collector as a memory leak.
    patched = attach(model, "0,1,4/8")
    tiny.sample(patched)
    gc.collect()
    gc.disable()
    try:
        dead = weakref.ref(patched)
        del patched
        assert dead() is None
    finally:
        gc.enable()


# --- what cannot be cached ---


def test_an_unknown_class_is_computed_in_full_with_one_warning(reference):
    class Foreign(comfy.ldm.flux.model.Flux):
        pass

    model = tiny.flux()
    model.model.diffusion_model.__class__ = Foreign
    listener = Listener()
    assert torch.equal(tiny.sample(attach(model, "0,1,4/8", listener=listener)), reference)
    assert listener.refusals == [
        "Foreign is not a supported transformer (supported: FLUX); all steps are computed in full"
    ]
    assert listener.records[0].cached_steps == ()


# --- other extensions ---


def scales_tokens(args, extra):
    return extra["original_block"](args | {"img": args["img"] * 1.5})


def skips_the_block(args, extra):
    return args


@pytest.mark.parametrize("replacement", [scales_tokens, skips_the_block])
def test_a_first_block_replaced_by_another_extension_is_part_of_the_residual(model, replacement):
    # With nearly one noise level for both steps, cached and full call see nearly the same input.
    patched = model.clone()
    patched.set_model_patch_replace(replacement, "dit", "double_block", 0)
    outputs = {}
    for name, schedule in (("full", "0,1/2"), ("cached", "0/2")):
        run = ActiveRun(Schedule.parse(schedule), Reuse(), (0.7, 0.699999, 0.0))
        outputs[name] = two_calls(patched, patching._ModelCalls(run))
    first, second = outputs["cached"]
    assert torch.equal(first, outputs["full"][0])
    # The noise levels differ by 1e-6; a change lost on the cached call would be of the order 1.
    torch.testing.assert_close(second, outputs["full"][1], rtol=0, atol=2e-3)


def two_calls(model, calls):
    """Two calls of one batch item at nearly one noise level, as a sampler makes them."""
    options = {
        "cond_or_uncond": [0],
        "uuids": ["prompt"],
        "patches_replace": model.model_options["transformer_options"].get("patches_replace", {}),
        "wrappers": {WrappersMP.APPLY_MODEL: {"test": [calls.apply_model]}},
    }
    x = torch.randn(1, 16, 8, 8, generator=torch.Generator().manual_seed(0))
    context, extra = tiny.conditioning(1)[0]
    outputs = []
    with torch.no_grad():
        for sigma in (0.7, 0.699999):
            calls._seen.clear()
            out = model.model.apply_model(
                x, torch.tensor([sigma]), c_crossattn=context, y=extra["pooled_output"],
                guidance=torch.tensor([3.5]), transformer_options=options,
            )  # fmt: skip
            outputs.append(out)
    return outputs


def test_skip_layer_guidance_is_a_branch_of_its_own(model):
    def skip(args, extra):
        return args

    def guidance(args):
        # As ComfyUI's skip-layer guidance: the positive prompt once more, with a block left out.
        options = args["model_options"].copy()
        transformer = options["transformer_options"].copy()
        transformer["patches_replace"] = {"dit": {("double_block", 1): skip}}
        options["transformer_options"] = transformer
        (weak,) = comfy.samplers.calc_cond_batch(
            args["model"], [args["cond"]], args["input"], args["sigma"], options
        )
        return args["denoised"] + args["cond_denoised"] - weak

    guided = model.clone()
    guided.set_model_sampler_post_cfg_function(guidance)
    listener = Listener()
    tiny.sample(attach(guided, "0,1,4/8", listener=listener))
    (record,) = listener.records
    assert (record.full_steps, record.notes) == ((0, 1, 4), ())
    assert len(record.full_seconds) == 2 * 3
    # One branch less would halve this: three residuals of 16 tokens of 64 channels.
    assert record.cache_bytes == 3 * 16 * 64 * 4


@pytest.mark.parametrize("change", ["uuid", "index", "patch", "replacement", "window", "shape"])
def test_what_distinguishes_branches(change):
    run = ActiveRun(Schedule.parse("0/4"), Reuse(), (1.0, 0.7, 0.4, 0.2, 0.0))
    calls = patching._ModelCalls(run)
    base, x, options = object(), torch.zeros(2, 16, 8, 8), {"cond_or_uncond": [0], "uuids": ["a"]}

    def key(x=x, control=None, **changes):
        return calls._branches(base, x, control, options | changes)

    other = {
        "uuid": {"uuids": ["b"]},
        "index": {"cond_or_uncond": [1]},
        "patch": {"patches": {"post_input": [print]}},
        "replacement": {"patches_replace": {"dit": {("double_block", 1): print}}},
        "window": {"context_window": types.SimpleNamespace(index_list=[0, 1])},
        "shape": {"x": torch.zeros(2, 16, 8, 4)},
    }[change]
    assert key() != key(**other)
    assert key(control={}) not in (key(), key(**other))
    assert run.notes == [
        "caching stopped because the image is sampled in tiles, which may move between steps"
    ]  # the plain key came twice, as tiles of one image do


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"uuids": ["a", "b"]},
        {"uuids": ["a", "b"], "cond_or_uncond": [0]},
        {"uuids": ["a", "b"], "cond_or_uncond": [1, 0]},
    ],
)
def test_calls_that_do_not_say_what_they_hold_have_no_branches(options):
    run = ActiveRun(Schedule.parse("0/1"), Reuse(), (1.0, 0.0))
    one_item = torch.zeros(1, 16, 8, 8)
    assert patching._ModelCalls(run)._branches(object(), one_item, None, options) == []


def test_a_wrapper_that_hides_the_branches_means_full_steps(model, reference):
    def wrapper(apply_model, args):
        options = args["c"]["transformer_options"].copy()
        del options["uuids"]
        return apply_model(
            args["input"], args["timestep"], **(args["c"] | {"transformer_options": options})
        )

    wrapped = model.clone()
    wrapped.set_model_unet_function_wrapper(wrapper)
    listener = Listener()
    assert torch.equal(tiny.sample(attach(wrapped, "0,1,4/8", listener=listener)), reference)
    assert listener.records[0].cached_steps == ()


def test_a_control_that_ends_forces_a_full_step(model):
    class Control(comfy.controlnet.ControlBase):
        """Adds to the image tokens until a noise level, as a ControlNet with an end does."""

        def get_control(self, x, t, cond, batched_number, options):
            if float(t[0]) < 0.6:
                return None
            add = torch.ones(x.shape[0], 16, 64)
            return {"input": [add, add], "output": []}

    def controlled(schedule):
        control, listener = Control(), Listener()
        latent = torch.zeros(1, 16, 8, 8)
        prompts = [
            [[c[0][0], c[0][1] | {"control": control, "control_apply_to_uncond": False}]]
            for c in (tiny.conditioning(1), tiny.conditioning(2))
        ]
        with torch.inference_mode():
            comfy.sample.sample(
                attach(model, schedule, listener=listener),
                comfy.sample.prepare_noise(latent, seed=1), 8, 3.0, "euler", "simple", *prompts,
                latent, disable_pbar=True, seed=1,
            )  # fmt: skip
        return listener.records[0]

    record = controlled("0/8")
    ended = next(n for n, sigma in enumerate(record.sigmas) if sigma < 0.6)
    assert record.full_steps == (0, ended)


# --- errors and words ---


def test_a_schedule_of_another_length_is_an_error_before_any_step(model):
    with pytest.raises(ValueError, match="the schedule covers 50 steps but the sampler runs 8"):
        tiny.sample(attach(model, "0-9/50"))


def test_the_plan_is_announced_in_words(model):
    listener = Listener()
    plan = patching.CachePlan("Balanced", None, Reuse())
    tiny.sample(patching.attach(model, plan, listener), steps=50, size=4)
    assert listener.plans == [
        "13 of 50 steps full (published for FLUX.1-dev: 0-4,6,8,10,14,19,30,43,49/50), "
        "policy residual reuse, at most 3.8x fewer block evaluations"
    ]


# --- torch.compile ---


class CountingBackend:
    """The backend ``eager``, counting graphs."""

    def __init__(self):
        self.graphs = 0

    def __call__(self, graph, inputs):
        self.graphs += 1
        return graph.forward


def compiled(model, backend, keys):
    from comfy_api.torch_helpers import set_torch_compile_wrapper
    from comfy_extras.nodes_torch_compile import skip_torch_compile_dict

    clone = model.clone()
    options = {"guard_filter_fn": skip_torch_compile_dict}
    set_torch_compile_wrapper(model=clone, backend=backend, options=options, keys=keys)
    return clone


WHOLE = ["diffusion_model"]
EACH_BLOCK = [
    *(f"diffusion_model.double_blocks.{i}" for i in range(2)),
    *(f"diffusion_model.single_blocks.{i}" for i in range(3)),
]


@pytest.fixture
def fresh_compiler():
    import torch._dynamo

    torch._dynamo.reset()
    torch._dynamo.utils.counters.clear()
    yield torch._dynamo.utils.counters
    torch._dynamo.reset()


@pytest.mark.parametrize("cache_last", [True, False])
def test_a_compiled_model_gives_the_eager_result_in_two_graphs(model, fresh_compiler, cache_last):
    expected = tiny.sample(attach(model, "0,1,4/8"))
    backend = CountingBackend()
    if cache_last:
        patched = attach(compiled(model, backend, WHOLE), "0,1,4/8")
    else:
        patched = compiled(attach(model, "0,1,4/8"), backend, WHOLE)
    found = [tiny.sample(patched) for _ in range(2)]
    assert backend.graphs == 2  # a full and a cached one, also in the second run
    assert not fresh_compiler["graph_break"]
    assert all(torch.equal(f, expected) for f in found)


def test_compiled_blocks_give_the_eager_result(model, fresh_compiler):
    expected = tiny.sample(attach(model, "0,1,4/8"))
    backend = CountingBackend()
    found = tiny.sample(attach(compiled(model, backend, EACH_BLOCK), "0,1,4/8"))
    assert backend.graphs == 2  # a double and a single block
    assert not fresh_compiler["graph_break"]
    assert torch.equal(found, expected)


@pytest.mark.parametrize("plain_first", [True, False])
def test_a_compiled_model_serves_plain_and_cached_runs(
    model, reference, fresh_compiler, plain_first
):
    expected = tiny.sample(attach(model, "0,1,4/8"))
    backend = CountingBackend()
    plain = compiled(model, backend, WHOLE)
    cached = attach(plain, "0,1,4/8")
    if plain_first:
        assert torch.equal(tiny.sample(plain), reference)
    assert torch.equal(tiny.sample(cached), expected)
    assert torch.equal(tiny.sample(plain), reference)
    assert torch.equal(tiny.sample(cached), expected)
    assert backend.graphs == 3
