"""ComfyUI's own compiler, which must be off while we keep tensors from inside a transformer.

For some models on NVIDIA, ComfyUI 0.34 and later record the memory of a call and give the next
call the same memory. A tensor that outlives its call then shares memory with others, and freeing it
can crash the process. ComfyUI reads its flag at the start of each call.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import TYPE_CHECKING

import comfy.model_prefetch as prefetch
from comfy.cli_args import args

from .model_call import uncompiled

if TYPE_CHECKING:
    from .setup import SamplingSetup

NOTE = (
    "ComfyUI's compiler was off for this run, because residual policies keep what it reuses; a "
    "fitted path or a policy on outputs or velocities leaves it on"
)
_FLAG = "disable_comfy_compiler"
_LOCK = threading.Lock()
_users = 0  # runs that need it off; all threads share the flag


def off_in_run(
    setup: SamplingSetup, options: dict, keeps_tokens: bool = True
) -> AbstractContextManager[bool]:
    """Keep ComfyUI's compiler off in the block if it compiles the MODEL and tokens are kept.

    Yields whether it would be on.

    Args:
        options: the transformer options of the run.
    """
    if not keeps_tokens or setup.family is None or not setup.family.compiled_by_comfyui:
        return nullcontext(False)
    transformer = uncompiled(setup.patcher.model.diffusion_model)
    return off_for(transformer, setup.patcher.load_device, options)


@contextmanager
def off_for(transformer, device, options: dict) -> Iterator[bool]:
    """Keep the compiler off for a transformer within the block; yield whether it would be on.

    Args:
        options: the transformer options of the run.
    """
    global _users
    with _LOCK:
        acts = _users > 0 or _acts_on(device)
        options |= {_FLAG: True} if acts else {}
        # The flag affects all threads, so it is left alone if the model reads the option.
        needs_flag = acts and not _asks(transformer)
        if needs_flag:
            _users += 1
            setattr(args, _FLAG, True)
    try:
        yield acts
    finally:
        if needs_flag:
            with _LOCK:
                _users -= 1
                setattr(args, _FLAG, _users > 0)


def clean_up() -> None:
    """Clean up after a call that did not finish, as ComfyUI does after each node."""
    prefetch.cleanup_prefetch_queues()


def _acts_on(device) -> bool:
    """Whether ComfyUI has a compiler that is on for a device."""
    if getattr(args, _FLAG, True):
        return False
    is_enabled = getattr(prefetch, "malloc_graph_enabled", None)
    return is_enabled is None or bool(is_enabled(device))


def _asks(transformer) -> bool:
    """Whether a transformer reads the option per run that ComfyUI's pull request 16245 adds."""
    methods = (getattr(method, "__code__", None) for method in vars(type(transformer)).values())
    return any(_FLAG in code.co_consts for code in methods if code is not None)
