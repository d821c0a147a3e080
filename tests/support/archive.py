"""The archive of the Comfy Registry: tracked files without those that ``.comfyignore`` names."""

import subprocess
import zipfile
from pathlib import Path

ROOT = Path(__file__).parents[2]


def files():
    """Paths of the files in the archive, from the root on."""
    return sorted(set(_tracked()) - set(_tracked("-i", "--exclude-from=.comfyignore")))


def build(path):
    """Write the archive; git reads ``.comfyignore`` as the registry's tool does."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for file in files():
            archive.write(ROOT / file, file)


def _tracked(*options):
    command = ["git", "ls-files", "-z", "--cached", *options]
    return subprocess.check_output(command, cwd=ROOT, text=True).split("\0")[:-1]
