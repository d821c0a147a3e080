"""Cache schedules for diffusion transformers, free of ComfyUI.

``schedule`` says which steps are computed in full, ``schedule_text`` reads and writes it. Each
folder is a room, which imports only those before it:

``files`` holds the formats of files, ``policies`` what predicts the other steps from earlier ones
(anchors). ``gates`` decide during a run instead, ``planning`` before it, from measured costs;
``methods`` is the table of those that were published. ``model`` knows where a transformer keeps its
blocks and swaps them for one call, ``run`` ties all this together while a sampling run lasts, and
``paths`` turns a user's choice into a schedule. ``quality`` compares images, ``search`` looks for
the best schedule, ``fitting`` fits weights to full runs, ``calibration`` measures what methods have
to know about a model. ``analysis`` examines recorded runs and their errors, ``reports`` puts
results into texts, tables and figures.

The *GPH paper* that docstrings name as their source is *The Golden Path Hypothesis: Reusable
Schedules in Diffusion Caching*.
"""
