"""Made-up steps for gates: everything that one can look at, on a straight line with some noise."""

import torch

from gph_core.gates.base import GateInput

GRID = (4, 6)


def made_steps(num_steps=8, batch=1, seed=0, dtype=torch.float32):
    """Gate input and output of each step."""
    generator = torch.Generator().manual_seed(seed)

    def line(*shape):
        start, slope = (torch.randn(batch, *shape, generator=generator) for _ in range(2))
        noise = torch.randn(num_steps, batch, *shape, generator=generator)
        return [(start + 0.05 * n * slope + 0.01 * noise[n]).to(dtype) for n in range(num_steps)]

    latents, outputs = line(3, 8, 12), line(3, 8, 12)
    modulated, tokens, probes = line(24, 5), line(24, 5), line(24, 5)
    inputs = [
        GateInput(n, 1 - n / num_steps, latents[n], modulated[n], tokens[n], probes[n], GRID)
        for n in range(num_steps)
    ]
    return inputs, outputs


def constants(values, field, shape=(1, 2, 3)):
    """Steps at which one tensor has one value throughout."""
    return [
        GateInput(n, 1 - n / len(values), **{field: torch.full(shape, float(value))})
        for n, value in enumerate(values)
    ]


def kinds(gate, inputs, forced=(), outputs=()):
    """Which steps a gate caches, one by one: 1 for cached, 0 for full."""
    state, bits = None, ""
    for n, at_step in enumerate(inputs):
        state, _, is_cached = gate.step(state, at_step, n in forced)
        if gate.reads_outputs and not is_cached:
            state = gate.computed(state, at_step, outputs[n])
        bits += "1" if is_cached else "0"
    return bits
