"""Where workers run: on this machine, or on the cluster of the user's own settings.

A workflow may come from anybody, and whoever answers at a cluster's address can run code in
ComfyUI. So a workflow holds one of two words, never an address.
"""

from __future__ import annotations

import os
import re

from ..library.settings import read_settings, settings_file

LOCAL, CLUSTER = "local", "the cluster of my settings"
VARIABLE = "GOLDEN_PATH_RAY_ADDRESS"
AUTO = "auto"  # Ray looks for a cluster on this machine
RAYS_OWN = "RAY_ADDRESS"  # Ray uses it in place of AUTO
ADDRESS = re.compile(r"(?:\[[^\[\]\s/]+\]|[^\[\]\s/:@]+):(\d{1,5})")  # host:port or [host]:port


def choice(word: object) -> str:
    """``LOCAL`` or ``CLUSTER``; ``ValueError`` says what to do with an address in a workflow.

    Args:
        word: from a workflow; an empty text stands for this machine.
    """
    chosen = (word.strip() or LOCAL) if isinstance(word, str) else None
    if chosen in (LOCAL, CLUSTER):
        return chosen
    raise ValueError(
        f"the address cannot be {str(word)[:100]!r}: a workflow names no machine. Choose {LOCAL!r} "
        f"for this machine. For a cluster of yours, set the environment variable {VARIABLE}, or "
        f"ray_address in {settings_file()}, to its address, and choose {CLUSTER!r}"
    )


def cluster_address() -> str:
    """Address of the user's own cluster: ``AUTO``, or host and port.

    Raises:
        ValueError: there is no address, or it is not allowed.
    """
    source, address = f"the environment variable {VARIABLE}", os.environ.get(VARIABLE, "").strip()
    if not address:
        source, address = f"ray_address in {settings_file()}", read_settings().ray_address.strip()
    if not address:
        raise ValueError(
            f"your settings name no cluster: set the environment variable {VARIABLE} and start "
            f'ComfyUI again, or write {{"ray_address": "10.0.0.1:6379"}} into {settings_file()}; '
            f"or choose {LOCAL!r}"
        )
    if address == AUTO and (rays := os.environ.get(RAYS_OWN, "").strip()):
        source, address = f"the environment variable {RAYS_OWN}, which Ray takes for {AUTO!r}", rays
    if address != AUTO and not _is_address(address):
        reason = "is no address of a Ray cluster"
        if "://" in address:
            reason = "is refused, because what is answered there can be code that ComfyUI would run"
        raise ValueError(
            f"{source}: {address[:100]!r} {reason}; write the host and port that `ray start "
            f"--head` shows, such as 10.0.0.1:6379, or {AUTO!r}"
        )
    return address


def _is_address(text: str) -> bool:
    match = ADDRESS.fullmatch(text)
    return match is not None and 0 < int(match[1]) < 65536
