"""Progress bar for several runs in a row."""

from __future__ import annotations

from collections.abc import Callable

import comfy.model_management
import comfy.sample
import comfy.samplers
import comfy.utils
import latent_preview

from .assessing import visible


class Progress:
    """Bar over several runs, with previews of their latents; each step can be cancelled."""

    def __init__(self, patcher, num_steps: int) -> None:
        self._bar = comfy.utils.ProgressBar(num_steps)
        self._previewer = latent_preview.get_previewer(
            patcher.load_device, patcher.model.latent_format
        )
        self._begun = 0  # steps of the runs that have begun

    def callback(self, num_steps: int) -> Callable:
        """Callback of the sampler for the next run."""
        before, self._begun = self._begun, self._begun + num_steps

        def stepped(step, x0, x, total_steps):
            comfy.model_management.throw_exception_if_processing_interrupted()
            preview = None
            if self._previewer:
                preview = self._previewer.decode_latent_to_preview_image("JPEG", visible(x0))
            self._bar.update_absolute(before + step + 1, preview=preview)

        return stepped
