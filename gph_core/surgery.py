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
        self._family = family
        self._scratch = Scratch()

    @contextmanager
    def recording(self) -> Iterator[None]:
        """Within the block a call computes in full and leaves its residual to ``take_residual``."""
        first_list = self._family.block_lists[0]
        block, *others = self._transformer.get_submodule(first_list).children()
        final = self._transformer.get_submodule(self._family.final_layer)
        first = RecordInput(block, self._scratch, self._family.hidden)
        with self._swapped(
            {
                first_list: nn.ModuleList([first, *others]),
                self._family.final_layer: RecordOutput(final, self._scratch),
            }
        ):
            yield

    @contextmanager
    def adding(self, residual: Tensor) -> Iterator[None]:
        """Within the block a call runs no transformer block and adds ``residual`` instead."""
        self._scratch.residual = residual
        final = self._transformer.get_submodule(self._family.final_layer)
        empty = {name: nn.ModuleList() for name in self._family.block_lists}
        with self._swapped({**empty, self._family.final_layer: AddResidual(final, self._scratch)}):
            yield

    def take_residual(self) -> Tensor | None:
        """The residual of the last recorded call, once.

        None if a recorder was not reached (another extension replaced the first block, say) or if
        tokens were added or removed on the way.
        """
        first, last = self._scratch.first_input, self._scratch.last_output
        self._clear()
        if first is None or last is None or first.shape != last.shape:
            return None
        return last - first

    @contextmanager
    def _swapped(self, modules: dict[str, nn.Module]) -> Iterator[None]:
        """Replace sub-modules, whatever happens for one call only."""
        own = self._transformer._modules
        originals = {name: own[name] for name in modules}
        own.update(modules)
        try:
            yield
        except BaseException:  # an interruption is no Exception: drop the tensors of this call
            self._clear()
            raise
        finally:
            own.update(originals)
            self._scratch.residual = None

    def _clear(self) -> None:
        self._scratch.first_input = self._scratch.last_output = None
