"""The worked example of CONTRIBUTING.md, an eleventh method, in a copy of the pack."""

import importlib
import re
import shutil
import subprocess
import sys

import pytest
import torch

import dev
from demo import comfyui

from ...support.comfy import tiny

BLOCKS = re.findall(
    r"```python\n(.*?)```", (dev.ROOT / "CONTRIBUTING.md").read_text("utf-8"), re.DOTALL
)


@pytest.fixture(scope="module")
def copy(tmp_path_factory):
    """A folder with the pack in which both files are changed as the page says."""
    folder = tmp_path_factory.mktemp("eleventh") / "pack"
    shutil.copytree(dev.ROOT, folder, ignore=shutil.ignore_patterns(".*", "__pycache__"))
    gate, row = BLOCKS
    with (folder / "gph_core" / "gates" / "accumulating.py").open("a", encoding="utf-8") as file:
        file.write(f"\n\n{gate}")
    methods = folder / "gph_core" / "methods" / "table.py"
    before, line, after = methods.read_text("utf-8").partition("\nALL = ")
    assert line
    methods.write_text(f"{before}\n{row}{line}{after}", "utf-8")
    return folder


@pytest.fixture(scope="module")
def pack(copy):
    """The changed pack, beside the one that the other tests have."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(comfyui, "ROOT", copy)
        patch.setattr(comfyui, "PACK", "pack_of_eleven")
        comfyui.load_pack()
    yield importlib.import_module("pack_of_eleven.nodes.cache.adaptive")
    for name in [name for name in sys.modules if name.split(".")[0] == "pack_of_eleven"]:
        del sys.modules[name]


def test_ten_lines_are_enough():
    assert sum(bool(line.strip()) for block in BLOCKS for line in block.splitlines()) <= 10


@pytest.mark.long
def test_the_suites_pass_with_the_eleventh_method_and_run_it(copy):
    # Its line in the table of docs/methods.md is left to its author.
    selection = ["tests/core/methods/test_methods.py", "tests/comfy/hook/test_gates.py"]
    selection += ["-k", "(test_methods or Moved and FLUX) and not whole_row"]
    found = subprocess.run(
        [sys.executable, "-m", "pytest", "-v", "-p", "no:cacheprovider", *selection],
        cwd=copy, capture_output=True, text=True,
    )  # fmt: skip
    assert found.returncode == 0, found.stdout
    assert re.search(r"test_gates\.py::test_at_an_infinite_threshold.*Moved.* PASSED", found.stdout)


def run(pack, model, threshold):
    listener, method = tiny.Listener(), pack.ALL["Moved"]
    plan = pack.adaptive(method, method.policy, threshold)
    found = tiny.sample(pack.patching.attach(model, plan, listener))
    (record,) = listener.records
    return found, record


def test_the_eleventh_method_adds_up_how_much_the_latent_changes(pack, model, reference):
    assert "Moved" in pack.ADAPTIVE
    assert torch.equal(run(pack, model, 0.0)[0], reference)
    _, record = run(pack, model, 0.6)
    assert 2 < len(record.full_steps) < 8
    # The change from each step to the next, summed since the last full step, is what it compared.
    states = []
    fixed = tiny.attach(model, record.schedule)
    tiny.sample(fixed, callback=lambda step, x0, x, total: states.append(x.clone()))
    total = 0.0
    for step in range(1, 8):
        change = (states[step] - states[step - 1]).abs().mean() / states[step - 1].abs().mean()
        total += float(change)
        assert record.gate_values[step] == pytest.approx(total, rel=1e-4)
        if step in record.full_steps:
            total = 0.0
