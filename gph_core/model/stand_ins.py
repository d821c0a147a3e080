"""Modules and lists that stand in for a transformer's own and look like them.

Other extensions read the blocks, ask for their types and change them during a call.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator, Sequence
from typing import Any

from torch import Tensor, nn

from .replacements import FinalLayer, Scratch

RAN = "another extension runs the blocks that a cached step leaves out"


class StandIn(nn.Module):
    """A module that is like another one in everything but a call, see ``stand_in``."""

    __slots__ = ()
    role: nn.Module

    def __call__(self, *args, **kwargs):
        return self.role(*args, **kwargs)

    def forward(self, *args, **kwargs):
        """Result of a call, for those who call this; a ``forward`` that others set comes first."""
        return (super().forward if "forward" in self.__dict__ else self.role)(*args, **kwargs)


def stand_in(module: nn.Module, role: nn.Module) -> nn.Module:
    """Module that looks like ``module`` and changes with it, but acts as ``role`` in a call.

    Other extensions read a block's parts, ask for its type, or give it a ``forward`` of their own.
    So the stand-in is of a subclass and shares all attributes: what one sets, the other has.
    """
    kind = type(module) if isinstance(module, StandIn) else _stand_in_of(type(module))
    made = kind.__new__(kind)
    made.__dict__ = module.__dict__
    object.__setattr__(made, "role", role)  # setattr of a module would make it one of the parts
    return made


@functools.cache
def _stand_in_of(kind: type[nn.Module]) -> type[nn.Module]:
    """Class of stand-ins; the same in all runs, or compiled code would not be found again."""
    names = {"__slots__": ("role",), "__module__": kind.__module__}
    return type(kind.__name__, (StandIn, kind), names)


class LeftOut(nn.Module):
    """A block that a cached call leaves out, for those who run it nevertheless."""

    def __init__(self, block: nn.Module, scratch: Scratch) -> None:
        super().__init__()
        self.block = block
        self.scratch = scratch

    def forward(self, *args, **kwargs):
        if not self.scratch.is_foreign():
            self.scratch.misfit = RAN
        return self.block(*args, **kwargs)


class OwnBlocks(nn.ModuleList):
    """The blocks that a cached call runs; other threads see all blocks.

    The model runs those that it iterates over. By index, the list gives any block.
    """

    def __init__(self, run: Sequence[nn.Module], every: nn.ModuleList, scratch: Scratch) -> None:
        super().__init__()
        self._modules = every._modules  # parts and weights are found by their names
        self.every = [every]  # in a list, as it is none of the blocks
        self.own = list(run)
        self.scratch = scratch

    def __iter__(self) -> Iterator[nn.Module]:
        return iter(self.every[0] if self.scratch.is_foreign() else self.own)

    def __len__(self) -> int:
        return len(self.every[0] if self.scratch.is_foreign() else self.own)

    def __getitem__(self, idx) -> Any:
        if self.scratch.is_foreign():
            return self.every[0][idx]
        if isinstance(idx, slice):
            return nn.ModuleList(self.own[idx])
        if 0 <= idx < len(self.own):
            return self.own[idx]
        block = self.every[0][idx]
        return stand_in(block, LeftOut(block, self.scratch))


class NoLayer(nn.Module):
    """Final layer of a model that has none: it returns the tokens."""

    def forward(self, tokens: Tensor, *_args, **_kwargs) -> Tensor:
        return tokens


class EndOfBlocks(nn.Module):
    """The last block with a final layer of ours after it, or that layer alone.

    It has the block's place in the list, as some models act by the number of a block.
    """

    def __init__(
        self, final_layer: FinalLayer, end: tuple[int, ...], block: nn.Module | None = None
    ) -> None:
        super().__init__()
        self.final_layer = final_layer
        self.end = end
        self.block = block

    def forward(self, *args, **kwargs):
        """Result in the block's form: the image tokens, or these and others."""
        if self.block is None:
            tokens, *others = (args[place] for place in self.end)
        else:
            result = self.block(*args, **kwargs)
            tokens, *others = (result,) if len(self.end) == 1 else result
        tokens = self.final_layer(tokens)
        return (tokens, *others) if others else tokens
