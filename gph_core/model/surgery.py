"""The model surgery: how a transformer is changed for one call.

A *full* call runs with a recorder around the first block and one around each final layer, so that
the change of the image tokens across all blocks (the residual) is known afterwards. A *cached*
call runs with empty block lists and final layers that add the predicted residual. A *probed* call
runs the first block alone, whose output corrects the prediction. The rest of the model (embeddings,
final norm, projection) runs as it is, with the current timestep.
"""

from __future__ import annotations

import operator
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from torch import Tensor, nn

from ..gates.base import Look
from ..policies.base import Anchor, ProbedPrediction, Streams, cast
from .family import Family, aligned
from .replacements import (
    AddBehindFirst,
    AddProbed,
    AddResidual,
    FinalLayer,
    Looked,
    PassInput,
    Recorded,
    RecordInput,
    RecordOutput,
    ReplaceTokens,
    Scratch,
    cloned,
)
from .stand_ins import EndOfBlocks, NoLayer, OwnBlocks, stand_in


class Surgery:
    """Changes of one transformer for full and cached calls; each is undone after the call.

    Args:
        probe_policy: that of a run that probes; its full calls record the probe, too.
        look: that of the run's gate, if there is one.
    """

    def __init__(
        self,
        transformer: nn.Module,
        family: Family,
        probe_policy: ProbedPrediction | None = None,
        look: Look | None = None,
    ) -> None:
        self._transformer = transformer
        self._place = transformer.get_submodule(family.inside)
        self.family = family
        self.mixes_prompts = family.mixes_prompts
        self._look = look
        self._scratch = Scratch(max(family.streams, default=0) + 1, probe_policy, look)
        self._made: dict[tuple[type, bool], tuple[list, dict[str, nn.Module]]] = {}

    @contextmanager
    def recording(self) -> Iterator[None]:
        """Record full calls within the block; then ``take`` or ``discard`` their tensors."""
        with self._swapped(RecordOutput):
            yield

    @contextmanager
    def adding(self, residual: Streams, looking: bool = False) -> Iterator[None]:
        """Let calls within the block run no transformer block and add ``residual`` instead.

        Args:
            looking: compute what the gate has to see, for ``looked``.
        """
        self._scratch.feature = residual
        with self._swapped(AddBehindFirst if looking else AddResidual, looking):
            yield

    @contextmanager
    def replacing(self, tokens: Streams, looking: bool = False) -> Iterator[None]:
        """Let calls within the block run no block; the final layers receive ``tokens``."""
        self._scratch.feature = tokens
        with self._swapped(ReplaceTokens, looking):
            yield

    @contextmanager
    def probing(self, newest: Anchor, before: Anchor, looking: bool = False) -> Iterator[None]:
        """Let calls within the block run the first block alone and predict the rest from it."""
        self._scratch.anchors = (newest, before)
        with self._swapped(AddProbed, looking):
            yield

    def looked(self) -> Looked:
        """Tensors that the last call left for the gate; ``take`` and ``discard`` drop them."""
        scratch = self._scratch
        (tokens, *_), (probe, *_) = scratch.first_input or (None,), scratch.first_output or (None,)
        return Looked(tokens, scratch.modulated, probe)

    def note_input(self, tokens: Tensor | Streams) -> None:
        """Note the first block's input where something else runs in its place."""
        self._scratch.first_input = cloned(tokens)

    def note_output(self, tokens: Tensor | Streams) -> None:
        """Note the output of what runs in the first block's place."""
        if self._scratch.reads_first_output:
            self._scratch.first_output = cloned(tokens)

    @property
    def misfit(self) -> str:
        """Why the last prediction did not fit its call; empty if it did."""
        return self._scratch.misfit

    def note_rows(self, parts: int, rows: int) -> bool:
        """Note the rows of a batch; returns whether the blocks see more for the first time.

        Other extensions may run more prompts in it. Which part is whose then depends on all.
        """
        tokens = self._scratch.last_output[0]
        has_more = tokens is not None and tokens.ndim > 2 and len(tokens) != rows
        is_news = has_more and parts > 1 and not self.mixes_prompts
        self.mixes_prompts |= is_news
        return is_news

    def take(self, parts: int, *, tokens: bool = False) -> list[Recorded] | None:
        """Tensors of the last recorded call, one item for each part of the batch; then drop them.

        Args:
            parts: equal parts of the batch.
            tokens: the tokens after the last block instead of the residual.

        None if a recorder was not reached, or if tokens were added or removed on the way.
        """
        scratch = self._scratch
        first = scratch.first_input
        probed = scratch.first_output if scratch.probe_policy else None
        last = [output for output in scratch.last_output if output is not None]
        self.discard()
        if first is None or len(first) != len(last) or (scratch.probe_policy and probed is None):
            return None
        features, probes = [], []
        for stream, after in enumerate(last):
            if not self._fits(first[stream], after):
                return None
            # In the shape that the final layer gets.
            before, after = aligned(first[stream], after, self.family.tail)
            if tokens:
                features.append([part.clone() for part in after.chunk(parts)])
            else:
                features.append(_differences(before, after, parts))
            if probed is not None:
                middle, _ = aligned(probed[stream], after, self.family.tail)
                probes.append(_differences(before, middle, parts))
        by_part = zip(*features, strict=True)
        if not probes:
            return [Recorded(feature, None) for feature in by_part]
        return [Recorded(f, p) for f, p in zip(by_part, zip(*probes, strict=True), strict=True)]

    def discard(self) -> None:
        """Drop the tensors of the last call."""
        self._scratch.clear()

    def _fits(self, first: Tensor, last: Tensor) -> bool:
        return first.numel() == last.numel() or (
            (self.family.tail or self.family.is_cut) and first[:, :1].shape == last[:, :1].shape
        )

    @contextmanager
    def _swapped(self, kind: type[FinalLayer], looking: bool = False) -> Iterator[None]:
        """Replace sub-modules within the block, and restore them whatever happens."""
        own, family, transformer = self._place._modules, self.family, self._transformer
        modules = self._replacements(kind, looking)
        originals = {name: own.get(name) for name in modules}
        kept = {n: getattr(transformer, n) for n in (family.memory, family.keeping) if n}
        if family.keeping and kind is not RecordOutput:
            setattr(transformer, family.keeping, False)
        self._scratch.thread = threading.get_ident()
        own.update(modules)
        try:
            yield
        except BaseException:  # interruptions included: drop the tensors of this call
            self.discard()
            raise
        finally:
            own.update(originals)
            for name in [name for name, module in originals.items() if module is None]:
                del own[name]
            if kind is not RecordOutput:
                # A full call cannot read what a call without blocks has written there.
                for name, value in kept.items():
                    setattr(transformer, name, value)
            self._scratch.feature = self._scratch.anchors = ()

    def _replacements(self, kind: type[FinalLayer], looking: bool) -> dict[str, nn.Module]:
        """The modules of one kind of call; made again only if the model's own are other ones."""
        own, family = self._place._modules, self.family
        present = [own.get(name) for name in (*family.block_lists, *family.final_layers)]
        made_for, modules = self._made.get((kind, looking), ((), {}))
        if len(made_for) != len(present) or any(map(operator.is_not, made_for, present)):
            layers = [own.get(name) or NoLayer() for name in family.final_layers]
            modules = self._blocks(kind, looking) | {
                name: stand_in(layer, kind(layer, self._scratch, i, family.tail))
                for name, layer, i in zip(family.final_layers, layers, family.streams, strict=True)
            }
            self._made[kind, looking] = (present, modules)
        return modules

    def _blocks(self, kind: type[FinalLayer], looking: bool) -> dict[str, nn.Module]:
        """The block lists of one kind of call."""
        lists = {name: self._place.get_submodule(name) for name in self.family.block_lists}
        names, end = self.family.block_lists, self.family.end
        first, *further = _every(lists[names[0]])
        observed = stand_in(first, RecordInput(first, self._scratch, self.family))
        if kind is RecordOutput:
            full = {names[0]: [observed, *further]}
            if end:
                *before, last = full.get(names[-1]) or _every(lists[names[-1]])
                full[names[-1]] = [*before, stand_in(last, EndOfBlocks(self._end(kind), end, last))]
            return {name: nn.ModuleList(blocks) for name, blocks in full.items()}
        run: dict[str, list[nn.Module]] = {name: [] for name in names}
        if kind is AddProbed or (looking and self._look is Look.FIRST_BLOCK):
            run[names[0]] = [observed]
        elif looking and self._look is Look.MODULATED:
            run[names[0]] = [stand_in(first, PassInput(first, self._scratch, self.family))]
        if end:
            last = _every(lists[names[-1]])[-1]
            run[names[-1]].append(stand_in(last, EndOfBlocks(self._end(kind), end)))
        return {
            name: OwnBlocks(run[name], _every(blocks), self._scratch)
            for name, blocks in lists.items()
        }

    def _end(self, kind: type[FinalLayer]) -> FinalLayer:
        """Final layer of a model without one."""
        return kind(NoLayer(), self._scratch, 0, self.family.tail)


def _every(blocks: nn.Module) -> nn.ModuleList:
    assert isinstance(blocks, nn.ModuleList)
    return blocks


def _differences(before: Tensor, after: Tensor, parts: int) -> list[Tensor]:
    """The residual of each part of a batch.

    Subtracted part by part: a view would keep the whole batch alive, a copy costs twice.
    """
    parted = zip(before.chunk(parts), after.chunk(parts), strict=True)
    # In the dtype of the final layer: some models keep the tokens between blocks in float32.
    return [cast(b - a, b.dtype) for a, b in parted]
