"""torchvision and torchaudio beside a CPU torch."""

from __future__ import annotations

import subprocess
from pathlib import Path

from .console import fail

# The registry's torchvision and torchaudio are built for CUDA. Beside a CPU torch, importing
# torchvision fails because its compiled operators are missing (two of them are described at
# import), and importing torchaudio fails because its compiled library does not load (without that
# file it does without). ComfyUI only needs the imports to succeed. Both are mended in the managed
# environment alone, and only if the imports fail.
COMPATIBILITY = '''\
import sys


class _DescribeOperators:
    """Describes torchvision's operators just before torchvision is imported."""

    @staticmethod
    def find_spec(name, path=None, target=None):
        if name == "torchvision":
            sys.meta_path.remove(_DescribeOperators)
            import torch

            library = torch.library.Library("torchvision", "DEF")
            library.define("nms(Tensor dets, Tensor scores, float iou_threshold) -> Tensor")
            library.define("qnms(Tensor dets, Tensor scores, float iou_threshold) -> Tensor")
            _DescribeOperators.library = library  # the operators live as long as this object
        return None


sys.meta_path.insert(0, _DescribeOperators)
'''


def make_compatible(python: Path) -> None:
    """Mend the imports that fail; see the comment above ``COMPATIBILITY``."""

    def imports(module: str) -> bool:
        return (
            subprocess.run([str(python), "-c", f"import {module}"], capture_output=True).returncode
            == 0
        )

    code = "import sysconfig; print(sysconfig.get_path('platlib'))"
    site = Path(subprocess.check_output([str(python), "-c", code], text=True).strip())
    if not imports("torchvision"):
        (site / "golden_path_torchvision.py").write_text(COMPATIBILITY, "utf-8")
        (site / "golden_path_torchvision.pth").write_text(
            "import golden_path_torchvision\n", "utf-8"
        )
    if not imports("torchaudio"):
        for library in (site / "torchaudio" / "lib").glob("*torchaudio*"):
            library.unlink()
    for module in ("torchvision", "torchaudio"):
        if not imports(module):
            fail(
                f"{module} does not import beside this torch",
                f"see why with: {python} -c 'import {module}'",
            )
