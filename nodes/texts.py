"""Words that several reports share."""


def counted(number: int, noun: str) -> str:
    """A number of things, such as ``1 run`` and ``2 runs``."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def named(names: str, reason: str) -> str:
    """A reason with whom it keeps away, once: some reasons begin with the name."""
    return reason if reason.startswith((f"{names} ", f"{names}:")) else f"{names}: {reason}"
