"""Examples under a schedule: batches, remembered states, and what goes wrong with them."""

import weakref
from dataclasses import replace

import comfy.model_management
import comfy.samplers
import pytest
import torch
from comfy.k_diffusion import sampling as k_diffusion
from golden_path_pack.gph_core.experiments.examples import UnderPolicy
from golden_path_pack.gph_core.model.surgery import Surgery
from golden_path_pack.gph_core.policies.extrapolation import Hermite, Reuse
from golden_path_pack.gph_core.schedule import Schedule
from golden_path_pack.nodes.sample.assessing import assessor_for
from golden_path_pack.nodes.sample.examples import Example
from golden_path_pack.nodes.sample.runner import LocalRunner
from golden_path_pack.nodes.sample.sampling import Sampling
from golden_path_pack.nodes.sample.workload import Workload

from ...support.comfy import tiny
from ...support.comfy.sampled import lying
from ...support.selection import later

SCHEDULE, OTHER = Schedule.parse("0-2,5/8"), Schedule.parse("0-2,6/8")
LATENT = {"samples": torch.zeros(1, 16, 8, 8)}


@pytest.fixture(autouse=True)
def inference():
    with torch.inference_mode():
        yield


class Examples(UnderPolicy):
    """Examples under a policy, with what tests look at."""

    @property
    def notes(self):
        return self.runner.references.notes

    @property
    def references(self):
        return self.runner.references

    def under(self, policy, state_bytes=0):
        return Examples(self.runner, policy, state_bytes)


def examples(
    model, batch=1, state_bytes=0, tokens=(5, 5, 5, 5), sampler="euler", on_run=lambda: None,
    positive=tiny.conditioning, on_reference=lambda *_: None,
):  # fmt: skip
    several = [
        Example("", positive(n, count), tiny.conditioning(90), seed=n)
        for n, count in enumerate(tokens)
    ]
    guider = comfy.samplers.CFGGuider(model)
    guider.set_cfg(3.0)
    guider.set_conds(several[0].positive, several[0].negative)
    sampling = model.get_model_object("model_sampling")
    sampler = comfy.samplers.sampler_object(sampler) if isinstance(sampler, str) else sampler
    levels = comfy.samplers.calculate_sigmas(sampling, "simple", 8)
    work = Workload(guider, several, LATENT, sampler, levels)
    runner = LocalRunner(work, assessor_for("latent MSE", None, "off"), batch)
    runner.references.on_run, runner.references.on_reference = on_run, on_reference
    return Examples(runner, Reuse(), state_bytes)


def errors(measurement):
    return [metrics["latent_mse"] for metrics in measurement.metrics]


@pytest.fixture(scope="module")
def alone(model):
    """Latent errors of examples that are sampled one by one."""
    with torch.inference_mode():
        return errors(examples(model).measure(SCHEDULE, range(4)))


def test_the_error_of_an_example_is_that_of_sampling_it_as_a_user_would(model, alone):
    noise = [comfy.sample.prepare_noise(LATENT["samples"], seed) for seed in range(4)]
    for number in (0, 3):
        latents = [
            comfy.sample.sample(
                patched, noise[number], 8, 3.0, "euler", "simple", tiny.conditioning(number),
                tiny.conditioning(90), LATENT["samples"], disable_pbar=True, seed=number,
            )
            for patched in (model, tiny.attach(model, str(SCHEDULE)))
        ]  # fmt: skip
        assert (
            alone[number] == (latents[0].double() - latents[1].double()).square().mean().item() > 0
        )


@pytest.mark.parametrize("batch", [3, *later(9)])
def test_examples_of_a_batch_have_the_errors_that_they_have_alone(model, alone, batch):
    found = examples(model, batch).measure(SCHEDULE, range(4))
    assert errors(found) == pytest.approx(alone, rel=1e-3)
    assert found.full_steps == 4 * 4


def test_prompts_of_different_lengths_are_sampled_one_by_one(model):
    apart, together = (examples(model, batch, tokens=(5, 7, 5, 5)) for batch in (1, 2))
    alone, found = (errors(work.measure(SCHEDULE, range(4))) for work in (apart, together))
    assert found[:2] == alone[:2]
    assert found == pytest.approx(alone, rel=1e-3)
    assert apart.notes == []


def test_what_undoes_the_batch_size_is_reported_once(model):
    work = examples(model, 2, tokens=(5, 7, 5, 6))
    work.begin()
    (note,) = work.notes
    assert "prompts differ in length" in note
    assert examples(model, 2).notes == []


def test_only_what_is_asked_for_is_answered_in_its_order(model, alone):
    found = examples(model, 2).measure(SCHEDULE, [3, 0])
    assert errors(found) == pytest.approx([alone[3], alone[0]], rel=1e-3)
    assert len(errors(examples(model, 2).measure(SCHEDULE, [1]))) == 1


def test_states_save_steps_and_change_nothing(model, alone):
    work = examples(model, state_bytes=1e9)
    first = work.measure(SCHEDULE, range(4))
    # The first run begins again at step 3, before the middle, as a check: one full step more.
    assert errors(first) == alone
    assert first.full_steps == 4 * 4 + 1
    second = work.measure(OTHER, range(4))
    assert second.full_steps == 4 * 1
    assert errors(second) == errors(examples(model).measure(OTHER, range(4)))
    assert work.notes == []


def test_a_sampler_that_keeps_more_than_its_state_starts_from_the_beginning(model):
    work = examples(model, state_bytes=1e9, sampler="dpmpp_2m")
    for schedule in (SCHEDULE, OTHER):
        found = work.measure(schedule, [0])
        assert found.full_steps == 4
        assert errors(found) == errors(examples(model, sampler="dpmpp_2m").measure(schedule, [0]))


def test_a_workflow_with_a_memory_of_its_own_is_found_out(model):
    remembering = model.clone()
    past = []

    def momentum(args):
        past.append(args["denoised"])
        return 0.9 * past[-1] + 0.1 * past[-2] if len(past) > 1 else past[-1]

    remembering.set_model_sampler_post_cfg_function(momentum)
    work = examples(remembering, state_bytes=1e9)
    work.measure(SCHEDULE, [0])
    assert not work.runner._memories[Reuse()].is_usable
    assert "keeps a memory of its own" in work.notes[0]
    assert work.measure(OTHER, [0]).full_steps == 4


@pytest.fixture(scope="module")
def mixing(model):
    """A model that gives each item of a batch something of the others."""
    patched = model.clone()
    patched.set_model_sampler_post_cfg_function(
        lambda args: args["denoised"] - 0.5 * args["denoised"].roll(1, 0)
    )
    return patched


@pytest.mark.parametrize("tokens", [(5, 7, 5, 5), *later(((5,) * 4,))])
def test_examples_that_influence_each_other_are_sampled_one_by_one(mixing, tokens):
    # Of the second, the first two prompts cannot be merged, the others can.
    count = len(tokens)
    work = examples(mixing, batch=count // 2, tokens=tokens)
    apart = examples(mixing, tokens=tokens).measure(SCHEDULE, range(count))
    assert work.measure(SCHEDULE, range(count)) == apart
    assert "influence each other" in work.notes[-1]


def test_out_of_memory_halves_the_batch(model, alone, monkeypatch):
    full = Sampling.full

    def limited(self, *args):
        if self.noise.shape[0] > 1:
            raise comfy.model_management.OOM_EXCEPTION("too large")
        return full(self, *args)

    monkeypatch.setattr(Sampling, "full", limited)
    work = examples(model, batch=4)
    assert errors(work.measure(SCHEDULE, range(4))) == alone
    assert [note.partition(": ")[2] for note in work.notes] == [
        "from now on examples are sampled 2 at a time",
        "from now on examples are sampled 1 at a time",
    ]


@pytest.mark.long
def test_states_of_larger_batches_are_not_used_once_another_policy_has_halved_them(model, alone):
    # The odd example keeps its number, but is another run to the caches of its branches.
    work = examples(model, batch=3, state_bytes=1e9)
    other = work.under(Hermite(2), 1e9)
    work.measure(OTHER, range(4))
    other.measure(OTHER, range(4))
    other.references.halve(MemoryError())
    assert errors(work.measure(SCHEDULE, range(4))) == alone
    assert work.notes == ["out of memory: from now on examples are sampled 1 at a time"]


def test_an_example_alone_may_hold_what_no_batch_can(model, alone):
    def with_more(seed, count):
        ((tokens, options),) = tiny.conditioning(seed, count)
        return [[tokens, options | {"t5xxl_ids": torch.zeros(5)}]]  # as Anima's text encoder gives

    work = examples(model, batch=4, positive=with_more)
    assert errors(work.measure(SCHEDULE, range(4))) == alone
    assert "those are sampled one by one" in work.notes[0]


def test_a_residual_that_does_not_fit_halves_the_batch_instead_of_scoring_a_full_run(
    model, alone, monkeypatch
):
    take = Surgery.take

    def limited(self, parts, **options):
        recorded = take(self, parts, **options)
        if recorded[0].feature[0].shape[0] > 1:
            raise comfy.model_management.OOM_EXCEPTION("too large")
        return recorded

    monkeypatch.setattr(Surgery, "take", limited)
    work = examples(model, batch=2)
    assert errors(work.measure(SCHEDULE, range(4))) == alone
    assert len(work.notes) == 1


@pytest.mark.parametrize("state_bytes", [0, 1e9])
def test_a_residual_of_one_example_that_does_not_fit_is_no_score(model, monkeypatch, state_bytes):
    def fail(*args, **options):
        raise comfy.model_management.OOM_EXCEPTION("too large")

    monkeypatch.setattr(Surgery, "take", fail)
    with pytest.raises(RuntimeError, match="one example does not fit"):
        examples(model, state_bytes=state_bytes).measure(SCHEDULE, range(4))


@pytest.mark.parametrize(("words", "raised"), [("out of memory", True), ("illegal access", False)])
def test_out_of_memory_of_newer_drivers_is_known_by_its_words(model, monkeypatch, words, raised):
    def fail(self, *args):
        raise comfy.model_management.ACCELERATOR_ERROR(f"CUDA error: {words}")

    monkeypatch.setattr(Sampling, "full", fail)
    work = examples(model, batch=2)
    with pytest.raises(RuntimeError, match="does not fit" if raised else "illegal access"):
        work.measure(SCHEDULE, range(4))
    assert len(work.notes) == raised


def test_one_example_that_does_not_fit_is_an_error_that_says_what_to_do(model, monkeypatch):
    def too_large(self, *args):
        raise comfy.model_management.OOM_EXCEPTION("too large")

    monkeypatch.setattr(Sampling, "full", too_large)
    with pytest.raises(RuntimeError, match="use a smaller size"):
        examples(model).measure(SCHEDULE, range(4))


def test_each_run_can_be_stopped_before_it_begins(model):
    def stop():
        raise comfy.model_management.InterruptProcessingException

    with pytest.raises(comfy.model_management.InterruptProcessingException):
        examples(model, on_run=stop).measure(SCHEDULE, [0])


# --- what is a score ------------------------------------------------------------------------------


@pytest.mark.parametrize("state_bytes", [0, 1e9])
def test_a_run_in_tiles_which_is_not_cached_is_no_score(model, state_bytes):
    def tiled(apply, args):
        halves = [apply(part, args["timestep"], **args["c"]) for part in args["input"].chunk(2, -2)]
        return torch.cat(halves, -2)

    patched = model.clone()
    patched.set_model_unet_function_wrapper(tiled)
    with pytest.raises(
        ValueError, match=r"cannot be scored .* because the image is sampled in til"
    ):
        examples(patched, state_bytes=state_bytes).measure(SCHEDULE, [0])


def test_steps_that_neither_level_nor_order_tells_are_no_score(model):
    sampler = lying(k_diffusion.sample_heun)
    with pytest.raises(ValueError, match=r"cannot be scored .* other noise levels"):
        examples(model, sampler=sampler).measure(SCHEDULE, [0])


def test_steps_that_their_order_tells_are_scored_under_the_schedule(model):
    work = examples(model, sampler=comfy.samplers.ksampler("euler", {"s_churn": 2.0}))
    (error,) = errors(work.measure(SCHEDULE, [0]))
    assert error > 0


def test_a_sampler_that_goes_back_is_scored_under_its_schedule(model):
    work = examples(model, sampler="heunpp2")
    (error,) = errors(work.measure(SCHEDULE, [0]))
    assert error > 0
    assert not work.notes


def test_a_prompt_that_begins_on_a_cached_step_is_scored_as_it_will_be_sampled(model):
    def two(seed, tokens):
        parts = ((seed, 0.0, 0.3), (seed + 50, 0.3, 1.0))
        return [
            [cross, extra | {"start_percent": start, "end_percent": end}]
            for part, start, end in parts
            for cross, extra in tiny.conditioning(part, tokens)
        ]

    work = examples(model, positive=two)
    found = work.measure(SCHEDULE, [0, 3])
    assert found.full_steps == 2 * (4 + 1)
    assert min(errors(found)) > 0
    assert len(work.notes) == 1
    assert "a prompt or a control begins there" in work.notes[0]


# --- references -----------------------------------------------------------------------------------


@pytest.fixture
def full_runs(monkeypatch):
    """How many items each full run had."""
    counts, full = [], Sampling.full

    def counted(self, *args):
        counts.append(len(self.noise))
        return full(self, *args)

    monkeypatch.setattr(Sampling, "full", counted)
    return counts


def test_references_are_computed_before_they_are_needed(model, full_runs, alone):
    done = []
    work = examples(model, batch=3, on_reference=lambda *counts: done.append(counts))
    work.begin()
    # The first three together and one of them alone, to find out whether they may be; then all.
    assert full_runs == [3, 1, 3, 1]
    assert done == [(3, 4), (4, 4)]
    found = work.measure(SCHEDULE, range(4))
    assert len(full_runs) == 4
    assert errors(found) == pytest.approx(alone, rel=1e-3)


def test_out_of_memory_of_a_reference_halves_the_batch(model, monkeypatch):
    full = Sampling.full

    def limited(self, *args):
        if len(self.noise) > 2:
            raise comfy.model_management.OOM_EXCEPTION("too large")
        return full(self, *args)

    monkeypatch.setattr(Sampling, "full", limited)
    done = []
    work = examples(model, batch=64, on_reference=lambda *counts: done.append(counts))
    work.begin()
    assert done == [(2, 4), (4, 4)]
    assert len(work.notes) == 1  # four examples cannot be sampled 32 at once


def test_policies_share_references(model, full_runs):
    first = examples(model, batch=2)
    second = first.under(Hermite(2), 1e9)
    first.measure(SCHEDULE, range(4))
    found = second.measure(SCHEDULE, range(4))
    assert full_runs == [2, 1, 2, 2]
    apart = examples(model, batch=2).under(Hermite(2))
    assert errors(found) == errors(apart.measure(SCHEDULE, range(4)))
    assert errors(found) != errors(first.measure(SCHEDULE, range(4)))
    assert second.notes is first.notes


@pytest.mark.long
def test_references_are_freed_when_all_who_share_them_forget(model, alone):
    first = examples(model, state_bytes=1e9)
    second = first.under(Hermite(2))
    first.begin()
    first.measure(SCHEDULE, range(4))
    second.begin()
    reference = weakref.ref(first.references.batches()[0].reference.latents[0])
    first.forget()
    assert not first.runner._memories
    assert reference() is not None
    second.forget()
    assert reference() is None
    assert errors(first.measure(SCHEDULE, range(4))) == alone


def test_the_model_is_left_as_it_was(model, reference):
    examples(model, state_bytes=1e9).measure(SCHEDULE, [0])
    assert torch.equal(tiny.sample(model), reference)


def test_a_sampling_of_other_noise_levels_is_a_run_on_them(model):
    work = examples(model).runner.workload.sampling(0)
    levels = work.sigmas[[0, 3, 8]]
    assert torch.equal(work.plain(levels), replace(work, sigmas=levels).full())
