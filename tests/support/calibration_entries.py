"""Calibrations for tests, and how two of them are compared."""

from __future__ import annotations

import math

import torch

from gph_core.calibration.entry import Calibration
from gph_core.calibration.outcome import Outcome
from gph_core.calibration.samples import Measured
from gph_core.calibration.threshold import FoundThreshold

CONDITIONS = {"model": "flux", "sigmas": (1.0, 0.6, 0.0), "latent": [16, 64, 64], "cfg": 1.0}
SETTINGS = {"forced": (0, 2), "policy": "reuse", "full steps": 3}
FOUND = FoundThreshold(2, 0.3, 0.2, 0.45, (1, 2, 2, 3), 9, "")


def calibration(method="TeaCache", **fields):
    return Calibration(method, CONDITIONS, **fields)


def full_entry(method="TeaCache"):
    coefficients = torch.tensor([1.0, -2.0, 1 / 3], dtype=torch.float64)
    return (
        calibration(method)
        .with_sample("a cat/7", {"x": torch.tensor([[0.1, 0.2]]), "y": torch.tensor([[1.0, 2.0]])})
        .with_sample("values", {"x": torch.ones(1, 2)})
        .with_values(Measured({"coefficients": coefficients, "x_range": [0.1, 0.2]}, {"r2": None}))
        .with_run(SETTINGS, "a cat/7", Outcome(0, -math.inf, 0.1))
        .with_run(SETTINGS, "a cat/7", Outcome(2, 0.25, math.inf))
        .with_threshold(SETTINGS, FOUND)
    )


def assert_same(one, other):
    assert (one.method, one.conditions, one.report) == (
        other.method,
        other.conditions,
        other.report,
    )
    assert (one.thresholds, one.runs) == (other.thresholds, other.runs)
    assert_same_values(one.values, other.values)
    assert list(one.samples) == list(other.samples)
    for example in one.samples:
        assert_same_values(one.samples[example], other.samples[example])


def assert_same_values(one, other):
    assert set(one) == set(other)
    for name, value in one.items():
        if isinstance(value, torch.Tensor):
            torch.testing.assert_close(other[name], value, rtol=0, atol=0)
        else:
            assert other[name] == value
