"""Branch keys: which part of a model call belongs to which conditioning."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterable

from . import controlnet

TILES = "caching stopped because the image is sampled in tiles, which may move between steps"


class Branches:
    """Branches of one run; equal keys mean the same tokens under the same conditions.

    A uuid alone is not enough: positive and negative area prompts can share one, and some guidance
    methods call the model again with other patches. A control or a weight hook that changes makes
    another branch, which is computed in full first.
    """

    def __init__(self, on_tiles: Callable[[str], None]) -> None:
        self._on_tiles = on_tiles
        self._seen: Counter[Hashable] = Counter()
        self._batch: int | None = None  # latents that the sampler evaluates at once
        self._conditions: dict[Hashable, tuple] = {}

    def begin_evaluation(self) -> None:
        """Begin a new evaluation: every branch comes once from here on."""
        self._seen.clear()

    def note_conditions(self, conds: list, sigma: float, batch: int) -> None:
        """Remember what the conditionings of this evaluation depend on besides their uuid."""
        self._batch = batch
        for index, group in enumerate(conds):
            for cond in group or ():
                active = controlnet.active(cond.get("control"), sigma)
                self._conditions[index, cond.get("uuid")] = (active, cond.get("hooks"))

    def keys(self, model, x, options: dict, inputs: Iterable[str] = ()) -> list[Hashable]:
        """One key per slice of the batch; none if the call does not say what its batch holds.

        Args:
            model: the model that is called; guiders of two models call both in one run.
            x: the latents of the call.
            options: its transformer options.
            inputs: names of further inputs: some guidance methods call again without one.
        """
        uuids = options.get("uuids") or []
        indices = options.get("cond_or_uncond") or []
        if len(uuids) != len(indices) or not uuids or x.shape[0] % len(uuids):
            return []
        batch = x.shape[0] // len(uuids)
        if self._batch not in (None, batch):  # all tiles in one call
            self._on_tiles(TILES)
            return []
        window = getattr(options.get("context_window"), "index_list", None)
        common = (
            id(model),
            _patch_signature(options),
            tuple(window) if window is not None else None,
            tuple(x.shape[1:]),
            batch,
            tuple(sorted(inputs)),
        )
        branches: list[Hashable] = [
            (*common, index, uuid, self._condition(index, uuid))
            for index, uuid in zip(indices, uuids, strict=True)
        ]
        self._seen.update(branches)
        if any(self._seen[branch] > 1 for branch in branches):
            self._on_tiles(TILES)
        return branches

    def _condition(self, index: int, uuid: Hashable) -> Hashable:
        active, hooks = self._conditions.get((index, uuid), ((), None))
        # Hooks with keyframes change the weights; ComfyUI has prepared this step's by now.
        if hooks is None:
            return active
        return active, tuple((id(hook), getattr(hook, "strength", None)) for hook in hooks.hooks)


def guided(conds: dict, sigma: float) -> Hashable:
    """Composition of the guidance result at a noise level: which prompts and controls act."""
    return tuple(
        (name, cond.get("uuid"), controlnet.active(cond.get("control"), sigma))
        for name, group in sorted(conds.items())
        for cond in group or ()
        if cond.get("timestep_end", sigma) <= sigma <= cond.get("timestep_start", sigma)
    )


def _patch_signature(options: dict) -> Hashable:
    """Signature of other nodes' patches that are active in this call."""
    patches, replacements = options.get("patches"), options.get("patches_replace")
    if not patches and not replacements:
        return None
    return (
        tuple(
            (name, tuple(id(patch) for patch in group))
            for name, group in sorted((patches or {}).items())
        ),
        tuple(
            (name, tuple(sorted((str(key), id(patch)) for key, patch in group.items())))
            for name, group in sorted((replacements or {}).items())
        ),
    )
