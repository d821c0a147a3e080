"""Cache schedules for diffusion transformers, free of ComfyUI.

``schedule`` says which steps are computed in full, ``schedule_text`` reads and writes it.
``policies`` predict the others from earlier steps (anchors): ``extrapolation``, ``two_anchor``,
``mean_velocity``, ``causal_linear``. ``gates`` decide during a run instead: ``accumulating``,
``sensitivity``, ``first_block``, ``easycache``; ``planners`` before it, from measured costs:
``dpcache``, ``meancache``. ``methods`` is the table of those that were published, ``calibration``
measures what they have to be told about a model. ``families`` describe where a transformer keeps
its blocks, ``signals`` read what the first of them is about to work on, ``surgery`` swaps them for
one call, ``active_run`` ties these together while a sampling run lasts, ``speeds`` turns a user's
choice into a schedule, ``record`` is what a run leaves behind.

What was measured is analyzed by ``frequency``, ``coverage`` with its ``margins``, ``interaction``,
``transfer`` and ``landscape``; ``quality`` reads it from shootouts, ``resampling`` gives intervals.
``trajectory``, ``planes`` and ``profiles`` tell the shape of a run's way through latent space,
``decomposition``, ``isolated_steps``, ``propagation`` and ``step_sensitivity`` where its errors
come from and go.
"""
