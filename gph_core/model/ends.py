"""The end of a stack behind which no module of the model's own receives the image tokens."""

from __future__ import annotations

from torch import Tensor, nn

from .replacements import FinalLayer


class NoLayer(nn.Module):
    """Final layer of a model that has none: it hands on the tokens."""

    def forward(self, tokens: Tensor, *_args, **_kwargs) -> Tensor:
        """The tokens, whatever else the model hands to a final layer."""
        return tokens


class EndOfBlocks(nn.Module):
    """The last block with a final layer of ours behind it, or that layer alone.

    It stands in the block's place of the list, so that what a model does by a block's number stays.
    """

    def __init__(
        self, final_layer: FinalLayer, end: tuple[int, ...], block: nn.Module | None = None
    ) -> None:
        super().__init__()
        self.final_layer = final_layer
        self.end = end
        self.block = block

    def forward(self, *args, **kwargs):
        """Result of the block, in its form: the image tokens, or these and others."""
        if self.block is None:
            tokens, *others = (args[place] for place in self.end)
        else:
            result = self.block(*args, **kwargs)
            tokens, *others = (result,) if len(self.end) == 1 else result
        tokens = self.final_layer(tokens)
        return (tokens, *others) if others else tokens
