"""gates/gating: what a gate compares, computed once more from what hooks see of the leader branch.

Afterwards, each call of a run is made again on the model alone. So nothing here goes through the
code that looks into a step.
"""

import itertools

import comfy.model_management
import pytest
import torch
from comfy.patcher_extension import WrappersMP
from golden_path_pack.gph_core.model import families
from golden_path_pack.gph_core.schedule import Schedule

from ...support.comfy.gated import ATTENTION, CASES, STEPS, forced, run_both_ways
from ...support.selection import later
from ...support.zoo import zoo

POSITIVE, NEGATIVE = 0, 1
GRIDS = {"FLUX": (4, 4), "Qwen-Image": (4, 4), "HunyuanVideo": (3, 4, 4)}


def change(new, old):
    return float((new - old).abs().mean() / old.abs().mean())


def filtered(tokens, grid, sigma):
    """SeaCache's filter as its paper states it, with a complex FFT over the whole grid."""
    a, b, p = 1 - min(sigma, 1 - 1e-6), min(sigma, 1 - 1e-6), len(grid)
    gain = torch.ones(grid, dtype=torch.float64)
    for axis, size in enumerate(grid):
        power = 1 / (torch.fft.fftfreq(size, dtype=torch.float64).abs() ** p + 1e-16)
        g = a * power / (a**2 * power + b**2 + 1e-16)
        gain = gain * g.reshape([size if n == axis else 1 for n in range(p)])
    volume = tokens.reshape(1, *grid, -1)
    axes = tuple(range(1, 1 + p))
    spectrum = torch.fft.fftn(volume, dim=axes) * (gain / gain.mean())[None, ..., None]
    return torch.fft.ifftn(spectrum, dim=axes).real.reshape(tokens.shape)


class Steps:
    """What the leader branch shows at each step of a run, in double precision."""

    def __init__(self, case, model, kind):
        """``kind``: of the prompt that is expected to decide."""
        self.sigmas, self.latents, self.velocities = [], [], []
        self.before, self.after, self.attended = [], [], []
        self._case, self._kind, self._calls = case, kind, {}
        self._base = model.model
        self.watched = model.clone()
        self.watched.add_wrapper(WrappersMP.APPLY_MODEL, self._called)

    def _called(self, executor, x, t, *given, **inputs):
        options = given[3]
        # A gate looks once a step, at its first call.
        self._calls.setdefault(float(t[0]), (x.clone(), t, given, inputs, list(options["uuids"])))
        return executor(x, t, *given, **inputs)

    def look(self, levels):
        """Make the first call at each noise level again, on the model alone."""
        transformer = self._base.diffusion_model
        family = families.detect(transformer)
        block = getattr(transformer, family.block_lists[0])[0]
        hooks = [
            block.register_forward_pre_hook(self._before(family), with_kwargs=True),
            block.register_forward_hook(self._after(family)),
        ]
        if family.name in ATTENTION:
            attention = block.get_submodule(ATTENTION[family.name])
            hooks.append(attention.register_forward_pre_hook(self._attended, with_kwargs=True))
        leader = None
        with torch.inference_mode():
            for sigma in levels:
                x, t, given, inputs, uuids = self._calls[sigma]
                kinds = given[3]["cond_or_uncond"]
                if leader is None:
                    leader = uuids[kinds.index(self._kind)]
                self._parts, self._place = len(uuids), uuids.index(leader)
                denoised = self._base._apply_model(x, t, *given, **inputs)
                self.sigmas.append(sigma)
                self.latents.append(self._own(x))
                self.velocities.append((self._own(x) - self._own(denoised)) / sigma)
        for hook in hooks:
            hook.remove()
        return self

    def _own(self, batch):
        """The image tokens, or the latent, of the leader branch."""
        is_packed = batch.ndim == 2
        part = batch if is_packed else batch.chunk(self._parts)[self._place]
        return part.clone().double()

    def _main(self, tokens):
        own = self._own(tokens)
        return own[:, :16] if self._case.name == "FLUX Kontext" else own  # the references follow

    def _before(self, family):
        def hook(_block, args, kwargs):
            image = family.image
            tokens = kwargs[image] if isinstance(image, str) else args[image]
            self.before.append(self._main(tokens[0] if isinstance(tokens, tuple) else tokens))

        return hook

    def _after(self, family):
        def hook(_block, _args, result):
            tokens = result if family.output is None else result[family.output]
            self.after.append(self._main(tokens[0] if isinstance(tokens, tuple) else tokens))

        return hook

    def _attended(self, _module, args, kwargs):
        self.attended.append(self._main(args[0] if args else kwargs["hidden_states"]))


def summed(changes, full):
    """Each change added to those since the newest full step."""
    total, sums = 0.0, []
    for step, each in enumerate(changes, start=1):
        sums.append(total + each)
        total = 0.0 if step in full else sums[-1]
    return [None, *sums]


def summed_changes(signals, full):
    return summed([change(b, a) for a, b in itertools.pairwise(signals)], full)


def newest(step, full):
    return max(n for n in full if n < step)


def values_of(name, case, steps, full, forced_steps):
    """What the rule of each method compares, as its source states it; None: nothing."""
    if name == "TeaCache":  # its polynomial is the change itself
        return summed_changes(steps.attended, full)
    if name == "DiCache":
        return summed_changes(steps.after, full)
    if name == "SeaCache":
        grid = GRIDS[case.family]
        raw = forced_steps if case.family == "FLUX" else ()
        attended = enumerate(zip(steps.attended, steps.sigmas, strict=True))
        kept = [m if n in raw else filtered(m, grid, sigma) for n, (m, sigma) in attended]
        return summed_changes(kept, full)
    if name == "First Block Cache":
        added = [b - a for a, b in zip(steps.before, steps.after, strict=True)]
        steps_after = range(1, STEPS)
        return [None, *(change(added[n], added[newest(n, full)]) for n in steps_after)]
    if name == "SenCache":  # both sensitivities are 1; at most 2 in a row; steps 0 and 1 are strict
        found, at_start = [None], 0.2 if case.family.startswith("HunyuanVideo") else 0.005
        for n in range(1, STEPS):
            a = newest(n, full)
            moved = (steps.latents[n] - steps.latents[a]).square().mean().sqrt()
            value = float(moved) + abs(steps.sigmas[n] - steps.sigmas[a])
            if n < 2:
                value = 0.0 if value < at_start else None
            found.append(None if n - a > 2 else value)
        return found
    assert name == "EasyCache"
    found, total = [None, None], 0.0
    for n in range(2, STEPS):
        a = newest(n, full)
        b = newest(a, full)
        kappa = (steps.velocities[a] - steps.velocities[b]).abs().mean() / (
            steps.latents[a] - steps.latents[b]
        ).abs().mean()
        moved = (steps.latents[n] - steps.latents[n - 1]).abs().mean()
        total = total + float(kappa * moved / steps.velocities[a].abs().mean())
        found.append(total)
        total = 0.0 if n in full else total
    return found


ALL_RULES = ("SeaCache", "TeaCache", "SenCache", "DiCache", "EasyCache", "First Block Cache")
ONE_CALL, LENGTHS, LITTLE_MEMORY = "in one call", "of different length", "with little memory"
RUNS = [
    *(("FLUX dev", name, ONE_CALL) for name in ALL_RULES),
    ("Qwen-Image", "SeaCache", LITTLE_MEMORY), ("HunyuanVideo", "SenCache", LENGTHS),
    ("FLUX Kontext", "DiCache", LENGTHS), ("LTX-2", "First Block Cache", LITTLE_MEMORY),
    ("MiniMax H3", "EasyCache", ONE_CALL),
]  # fmt: skip
OTHER_RUNS = [
    *(("Qwen-Image", name, LITTLE_MEMORY) for name in ("TeaCache", "EasyCache")),
    *(("HunyuanVideo", name, LENGTHS) for name in ("SeaCache", "First Block Cache")),
    ("FLUX Kontext", "SeaCache", ONE_CALL), ("Wan 2.1 1.3B", "DiCache", LITTLE_MEMORY),
    ("Z-Image", "EasyCache", LENGTHS), ("Anima", "SenCache", LITTLE_MEMORY),
    ("MiniMax H3", "DiCache", LITTLE_MEMORY),
    ("Cosmos-Predict2, image to video", "First Block Cache", LENGTHS),
]  # fmt: skip


@pytest.mark.parametrize(
    ("case", "name", "prompts"),
    [
        *(run for run in RUNS if run[0] in CASES),
        *later(*(run for run in OTHER_RUNS if run[0] in CASES)),
    ],
)
def test_a_gate_compares_what_the_leader_branch_shows_once_a_step(case, name, prompts, monkeypatch):
    case = CASES[case]
    model = zoo.build(case)
    options = {"tokens": (5, 8 if prompts == LENGTHS else 5), "cfg": 3.0}
    decides = POSITIVE
    if prompts == LITTLE_MEMORY:
        monkeypatch.setattr(comfy.model_management, "get_free_memory", lambda *args, **kw: 0)
        # ComfyUI calls the negative prompt first then, unless the two never share a call.
        decides = POSITIVE if case.family == "MiniMax H3" else NEGATIVE
    steps = Steps(case, model, decides)
    record = run_both_ways(name, case, steps.watched, **options)
    assert_compared(record, name, case, model, steps)


@pytest.mark.parametrize(
    ("name", "sampler"),
    [
        ("SeaCache", "heun"), ("DiCache", "heun"), ("TeaCache", "dpm_2"),
        ("First Block Cache", "dpm_2"), ("SenCache", "heunpp2"), ("EasyCache", "heunpp2"),
    ],
)  # fmt: skip
def test_a_gate_looks_at_the_first_of_several_evaluations_of_a_step(name, sampler):
    case = CASES["FLUX dev"]
    model = zoo.build(case)
    steps = Steps(case, model, POSITIVE)
    record = run_both_ways(name, case, steps.watched, sampler=sampler, cfg=3.0)
    assert_compared(record, name, case, model, steps)


def assert_compared(record, name, case, model, steps):
    """The run compared what its method's rule makes of what is seen, one value a step."""
    steps.look(record.sigmas[:-1])
    full = Schedule.parse(record.schedule).full_steps
    expected = values_of(name, case, steps, full, forced(name, case, model))
    assert [value is None for value in record.gate_values] == [v is None for v in expected]
    numbers = [value for value in record.gate_values if value is not None]
    assert numbers == pytest.approx([v for v in expected if v is not None], rel=1e-4)
