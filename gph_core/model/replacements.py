"""Modules that replace a transformer's own during one call.

They read and write a plain scratch object, and are modules rather than hooks or closures, so that
``torch.compile`` of the whole model traces them: one graph for full calls, one for cached ones.
For other threads that call the transformer meanwhile they act as its own modules.
"""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from ..gates.base import Look
from ..policies.base import Anchor, ProbedPrediction, Streams, cast
from .family import Family, aligned, with_image

OTHER_BATCH = "another extension changed how many prompts the blocks see"


class Scratch:
    """Tensors that enter and leave a call; one per transformer, as devices run at once."""

    def __init__(
        self, streams: int, probe_policy: ProbedPrediction | None, look: Look | None
    ) -> None:
        self.probe_policy = probe_policy
        self.reads_modulated = look is Look.MODULATED
        self.reads_first_output = probe_policy is not None or look is Look.FIRST_BLOCK
        self.first_input: Streams | None = None
        self.first_output: Streams | None = None
        self.modulated: Tensor | None = None
        self.last_output: list[Tensor | None] = [None] * streams
        self.feature: Streams = ()
        self.anchors: Sequence[Anchor] = ()
        self.misfit = ""  # why a prediction did not fit the call
        self.thread: int | None = None  # that makes the calls

    def is_foreign(self) -> bool:
        """Whether another thread makes this call; compiled code cannot tell."""
        return not torch.compiler.is_compiling() and self.thread != threading.get_ident()

    def clear(self) -> None:
        """Drop all tensors."""
        self.first_input = self.first_output = self.modulated = None
        self.misfit = ""
        self.last_output = [None] * len(self.last_output)
        self.feature = self.anchors = ()


class Recorded(NamedTuple):
    """Tensors of one part of the batch after a full call."""

    feature: Streams
    probe: Streams | None


class Looked(NamedTuple):
    """Tensors around the first block, for a gate, ``[B, T, C]``."""

    tokens: Tensor | None
    modulated: Tensor | None
    probe: Tensor | None


class RecordInput(nn.Module):
    """The first block, noting the image tokens that come in and, if wanted, those that go out."""

    def __init__(self, block: nn.Module, scratch: Scratch, family: Family) -> None:
        super().__init__()
        self.block = block
        self.scratch = scratch
        self.family = family

    def forward(self, *args, **kwargs):
        scratch, image, output = self.scratch, self.family.image, self.family.output
        if scratch.is_foreign():
            return self.block(*args, **kwargs)
        tokens = self.of_image(kwargs[image] if isinstance(image, str) else args[image], args)
        if self.family.prefix is not None and not tokens.shape[1]:
            return self.block(*args, **kwargs)  # the tokens before the image have their own call
        if scratch.first_input is None:  # else noted already, see ``note_input``
            # Cloned: blocks and control nets add to this tensor in place.
            scratch.first_input = cloned(tokens)
        if scratch.reads_modulated and self.family.signal is not None:
            scratch.modulated = self.family.signal.modulated(self.block, args, kwargs)
        result = self.run(*args, **kwargs)
        if scratch.reads_first_output:
            tokens = self.of_image(result if output is None else result[output], args)
            scratch.first_output = cloned(tokens)
        return result

    def of_image(self, tokens: Any, args: Sequence[Any]) -> Any:
        """The tokens without those before the image, if the block receives their number."""
        return tokens if self.family.prefix is None else tokens[:, args[self.family.prefix] :]

    def run(self, *args, **kwargs):
        """The result that the model receives from the block."""
        return self.block(*args, **kwargs)


class PassInput(RecordInput):
    """Replacement that notes its input, too, and returns it as if the block changed nothing."""

    def run(self, *args, **kwargs):
        assert self.family.signal is not None
        return self.family.signal.passed_through(args, kwargs)


class FinalLayer(nn.Module, ABC):
    """The final layer of one stream, with other tokens during a call."""

    def __init__(self, final_layer: nn.Module, scratch: Scratch, stream: int, tail: bool) -> None:
        super().__init__()
        self.final_layer = final_layer
        self.scratch = scratch
        self.stream = stream
        self.tail = tail

    def forward(self, tokens: Tensor, *args, **kwargs):
        if not self.scratch.is_foreign():
            basis = self.basis()
            # Up to some step, other extensions run more prompts in the batch than the call has.
            if basis is not None and basis.ndim == tokens.ndim > 2 and len(basis) != len(tokens):
                self.scratch.misfit = OTHER_BATCH
            else:
                tokens = self.tokens(tokens)
        return self.final_layer(tokens, *args, **kwargs)

    def basis(self) -> Tensor | None:
        """The tensor that a prediction starts from; None without a prediction."""
        return self.scratch.feature[self.stream] if self.scratch.feature else None

    @abstractmethod
    def tokens(self, tokens: Tensor) -> Tensor:
        """The tokens for the final layer, from those that come in."""


class RecordOutput(FinalLayer):
    """Final layer that notes the tokens after the last block."""

    def tokens(self, tokens: Tensor) -> Tensor:
        self.scratch.last_output[self.stream] = tokens
        return tokens


class AddResidual(FinalLayer):
    """Final layer whose tokens get the predicted residual."""

    def tokens(self, tokens: Tensor) -> Tensor:
        residual, image = aligned(self.scratch.feature[self.stream], tokens, self.tail)
        changed = cast(image + residual, tokens.dtype)
        return with_image(tokens, changed, self.tail)


class AddBehindFirst(FinalLayer):
    """Final layer whose tokens are the first block's input plus the predicted residual.

    For calls in which a gate sees that block or its input: models add more after that.
    """

    def tokens(self, tokens: Tensor) -> Tensor:
        assert self.scratch.first_input is not None
        before, _ = aligned(self.scratch.first_input[self.stream], tokens, self.tail)
        residual, before = aligned(self.scratch.feature[self.stream], before, self.tail)
        changed = cast(before + residual, tokens.dtype)
        return with_image(tokens, changed, self.tail)


class ReplaceTokens(FinalLayer):
    """Final layer whose tokens are predicted ones."""

    def tokens(self, tokens: Tensor) -> Tensor:
        predicted, _ = aligned(self.scratch.feature[self.stream], tokens, self.tail)
        return with_image(tokens, predicted, self.tail)


class AddProbed(FinalLayer):
    """Final layer whose tokens a policy predicts from the probe, after the first block alone.

    The probe is the first block's own result: some models add more to it later.
    """

    def basis(self) -> Tensor | None:
        return self.scratch.anchors[0].feature[self.stream]

    def tokens(self, tokens: Tensor) -> Tensor:
        scratch, stream = self.scratch, self.stream
        first, output, policy = scratch.first_input, scratch.first_output, scratch.probe_policy
        assert first is not None
        assert output is not None
        assert policy is not None
        before, _ = aligned(first[stream], tokens, self.tail)
        after, _ = aligned(output[stream], tokens, self.tail)
        probe = after - before
        newest, older = scratch.anchors
        assert newest.probe is not None
        assert older.probe is not None
        remembered = [kept[stream] for kept in (newest.probe, older.probe)]
        remembered += [anchor.feature[stream] for anchor in (newest, older)]
        # HiDream-O1 sends its prompt through the blocks in some calls only; all have these tokens.
        for tensor in remembered:
            _, probe = aligned(tensor, probe, self.tail)
        *probes, last, former = [aligned(tensor, probe, self.tail)[0] for tensor in remembered]
        residual = policy.extrapolate(probe, (probes[0], probes[1]), (last, former))
        before, _ = aligned(before, probe, self.tail)
        predicted = cast(before + residual, tokens.dtype)
        return with_image(tokens, predicted, self.tail)


def cloned(tokens: Tensor | Streams) -> Streams:
    """The tokens of each stream, safe from changes in place."""
    return tuple(t.clone() for t in (tokens if isinstance(tokens, tuple) else (tokens,)))
