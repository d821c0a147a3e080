"""What is known of ComfyUI's samplers, by the name of their function."""

from __future__ import annotations

# They draw fresh noise on the way, which no prediction can foresee.
_STOCHASTIC = ("ancestral", "sde", "lcm", "ddpm", "seeds", "sa_solver")


def name(sampler) -> str:
    """The sampler's name without ``sample_``; empty for one without a function."""
    function = getattr(sampler, "sampler_function", None)
    return getattr(function, "__name__", "").removeprefix("sample_").removesuffix("_function")


def is_stochastic(sampler_name: str) -> bool:
    """Whether it adds noise between steps."""
    return any(part in sampler_name for part in _STOCHASTIC)


def leaves_the_grid(sampler_name: str) -> bool:
    """Whether it chooses its own noise levels, so that there are no steps to cache."""
    return sampler_name in ("dpm_fast", "dpm_adaptive")


def reads_the_branches(sampler_name: str) -> bool:
    """Whether it uses the unconditional prediction besides the guided one."""
    return "cfg_pp" in sampler_name
