"""Measurements with bars: ``python dev.py bench NAME [--check]``.

Importing this package loads ComfyUI and the pack, so that its modules can import from both.
"""

import sys

import torch

from demo.comfyui import load_pack, use_comfyui

ON_GPU = torch.cuda.is_available()

if "comfy" not in sys.modules:
    arguments = sys.argv
    use_comfyui(device="cuda" if ON_GPU else "cpu")
    torch.set_num_threads(1)  # the demo models are so small that more threads only wait
    load_pack()
    sys.argv = arguments  # ComfyUI has read others
