"""The model surgery: what a transformer is changed to for the length of one call.

A *full* call runs with a recorder around the first block and one around the final layer, so that
the change of the image tokens across all blocks (the residual) is known afterwards. A *cached*
call runs with empty block lists and a final layer that adds the predicted residual to what comes
in. Everything else of the model (embeddings, final norm, projection) runs as it is, with the
current timestep.

The replacements are modules that read and write a plain scratch object, not hooks or closures, so
that ``torch.compile`` of the whole model traces them: one graph for full calls, one for cached
ones.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from torch import Tensor, nn

from .families import Family


class Scratch:
    """Tensors on their way into and out of a call; one per transformer, as devices run at once."""

    def __init__(self) -> None:
        self.first_input: Tensor | None = None
        self.last_output: Tensor | None = None
        self.residual: Tensor | None = None


class RecordInput(nn.Module):
    """The first block, noting the image tokens that it receives."""

    def __init__(self, block: nn.Module, scratch: Scratch, hidden: str) -> None:
        super().__init__()
        self.block = block
        self.scratch = scratch
        self.hidden = hidden

    def forward(self, *args, **kwargs):
        if self.scratch.first_input is None:  # else noted already, see ``note_input``
            # Cloned: blocks and control nets add to this tensor in place.
            self.scratch.first_input = kwargs[self.hidden].clone()
        return self.block(*args, **kwargs)


class RecordOutput(nn.Module):
    """The final layer, noting the image tokens after the last block."""

    def __init__(self, final_layer: nn.Module, scratch: Scratch) -> None:
        super().__init__()
        self.final_layer = final_layer
        self.scratch = scratch

    def forward(self, tokens: Tensor, *args, **kwargs):
        self.scratch.last_output = tokens
        return self.final_layer(tokens, *args, **kwargs)


class AddResidual(nn.Module):
    """The final layer, on image tokens plus the predicted residual."""

    def __init__(self, final_layer: nn.Module, scratch: Scratch) -> None:
        super().__init__()
        self.final_layer = final_layer
        self.scratch = scratch

    def forward(self, tokens: Tensor, *args, **kwargs):
        residual = self.scratch.residual
        assert residual is not None
        return self.final_layer(tokens + residual, *args, **kwargs)


class Surgery:
    """Prepares one transformer for full and cached calls; it is itself again after each call."""

    def __init__(self, transformer: nn.Module, family: Family) -> None:
        self._transformer = transformer
        self.family = family
        self._scratch = Scratch()

    @contextmanager
    def recording(self) -> Iterator[None]:
        """Within the block a call computes in full; then take or discard its residual."""
        first_list = self.family.block_lists[0]
        blocks = self._transformer.get_submodule(first_list)
        assert isinstance(blocks, nn.ModuleList)
        block, *others = blocks
        final = self._transformer.get_submodule(self.family.final_layer)
        first = RecordInput(block, self._scratch, self.family.hidden)
        with self._swapped(
            {
                first_list: nn.ModuleList([first, *others]),
                self.family.final_layer: RecordOutput(final, self._scratch),
            }
        ):
            yield

    @contextmanager
    def adding(self, residual: Tensor) -> Iterator[None]:
        """Within the block a call runs no transformer block and adds ``residual`` instead."""
        self._scratch.residual = residual
        final = self._transformer.get_submodule(self.family.final_layer)
        empty = {name: nn.ModuleList() for name in self.family.block_lists}
        with self._swapped({**empty, self.family.final_layer: AddResidual(final, self._scratch)}):
            yield

    def note_input(self, tokens: Tensor) -> None:
        """Tell what the first block receives, where something else runs in its place."""
        self._scratch.first_input = tokens.clone()

    def take_residuals(self, parts: int) -> list[Tensor] | None:
        """The residuals of the last recorded call, once: one tensor for each part of the batch.

        None if a recorder was not reached or if tokens were added or removed on the way.
        """
        first, last = self._scratch.first_input, self._scratch.last_output
        self.discard()
        if first is None or last is None or first.shape != last.shape:
            return None
        # Subtracted part by part: a view would keep the whole batch alive, a copy costs twice.
        return [b - a for a, b in zip(first.chunk(parts), last.chunk(parts), strict=True)]

    def discard(self) -> None:
        """Drop what the last recorded call noted."""
        self._scratch.first_input = self._scratch.last_output = None

    @contextmanager
    def _swapped(self, modules: dict[str, nn.Module]) -> Iterator[None]:
        """Replace sub-modules, whatever happens for one call only."""
        own = self._transformer._modules
        originals = {name: own[name] for name in modules}
        own.update(modules)
        try:
            yield
        except BaseException:  # an interruption is no Exception: drop the tensors of this call
            self.discard()
            raise
        finally:
            own.update(originals)
            self._scratch.residual = None
