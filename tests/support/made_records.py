"""Records of runs, made by hand."""

from gph_core.run.record import RunRecord


def record(full_steps, num_steps=8, **fields):
    """Record of a run that computed these steps in full and cached all others."""
    cached = tuple(step for step in range(num_steps) if step not in full_steps)
    values = {
        "schedule": f"0,{num_steps - 1}/{num_steps}", "origin": "made", "family": "Toy",
        "site": "stack residual", "policy": "residual reuse",
        "sigmas": tuple(1 - step / num_steps for step in range(num_steps + 1)),
        "full_steps": tuple(full_steps), "cached_steps": cached,
        "full_seconds": (1.0,) * len(full_steps), "cached_seconds": (0.25,) * len(cached),
        "cache_bytes": 0, "notes": (),
    }  # fmt: skip
    return RunRecord(**values | fields)
