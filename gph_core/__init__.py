"""Cache schedules for diffusion transformers, free of ComfyUI.

``schedule`` says which steps are computed in full. ``policies`` predict the others from earlier
steps (anchors): ``extrapolation``, ``two_anchor``, ``mean_velocity``, ``causal_linear``.
``families`` describe where a transformer keeps its blocks, ``surgery`` swaps them for one call,
``active_run`` ties these together while a sampling run lasts, ``speeds`` turns a user's choice into
a schedule, ``record`` is what a run leaves behind.
"""
