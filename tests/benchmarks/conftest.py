"""ComfyUI in the test process, as for tests/comfy: benchmarks import it."""

from ..comfy.conftest import collect_ignore_glob  # noqa: F401
