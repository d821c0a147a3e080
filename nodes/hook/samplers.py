"""Properties of ComfyUI's samplers, by the name of their function."""

from __future__ import annotations

# They draw fresh noise between steps, which no prediction can foresee.
_STOCHASTIC = ("ancestral", "sde", "lcm", "ddpm", "seeds", "sa_solver")


def name(sampler) -> str:
    """Name of the sampler without ``sample_``; empty for one without a function."""
    function = getattr(sampler, "sampler_function", None)
    return getattr(function, "__name__", "").removeprefix("sample_").removesuffix("_function")


def is_stochastic(sampler) -> bool:
    """Whether a sampler adds noise between steps, given its options."""
    options = getattr(sampler, "extra_options", {})
    if options.get("s_churn", 0) > 0:
        return True
    silenced = options.get("eta", 1) == 0 or options.get("s_noise", 1) == 0
    return not silenced and any(part in name(sampler) for part in _STOCHASTIC)


def keeps_nothing(sampler) -> bool:
    """Whether the latent is a sampler's whole state, so that a run can begin at any step.

    In ComfyUI, ddim is euler too.
    """
    return name(sampler) == "euler" and not is_stochastic(sampler)


def needs_every_call(sampler_name: str) -> bool:
    """Whether a sampler chooses its own noise levels, or depends on every model call."""
    return sampler_name in ("dpm_fast", "dpm_adaptive", "ar_video")


def makes_several_calls(sampler) -> bool:
    """Whether a sampler is one of ComfyUI's that evaluate the model more than once per step."""
    return name(sampler).startswith(
        ("heun", "exp_heun", "dpm_2", "dpmpp_2s", "dpmpp_sde", "seeds", "sa_solver_pece")
    )


def drops_a_level(sampler) -> bool:
    """Whether *KSampler* leaves out the last noise level but one for a sampler."""
    return name(sampler).startswith(("dpm_2", "unipc"))


def goes_back(sampler) -> bool:
    """Whether a sampler evaluates two steps ahead and then goes back to the next one."""
    return name(sampler) == "heunpp2"


def reads_the_branches(sampler_name: str) -> bool:
    """Whether a sampler uses the unconditional prediction besides the guided one."""
    return "cfg_pp" in sampler_name or sampler_name == "euler_pp"


def tells_states(sampler_name: str) -> bool:
    """Whether a sampler reports the state before each step of the given noise levels.

    unipc reports the final state in place of the last one; some samplers choose their own levels.
    """
    takes_levels = bool(sampler_name) and not needs_every_call(sampler_name)
    return takes_levels and not sampler_name.startswith("unipc")
