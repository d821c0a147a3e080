"""Every reader of files of the core, by its module. A new one joins by a row here."""

from __future__ import annotations

import contextlib

import torch
from safetensors.torch import save_file

from gph_core.analysis import decomposition, isolated_steps
from gph_core.analysis.decomposition import Decomposition
from gph_core.analysis.isolated_steps import IsolatedStep
from gph_core.calibration import file as calibration_file
from gph_core.files.states_file import States, writing
from gph_core.paths.library import UserPaths, bundled_paths
from gph_core.policies import causal_linear
from gph_core.quality import lpips_network
from gph_core.quality.shootout import CandidateRun, Results
from gph_core.run import record_file
from gph_core.run.record import RunRecord
from gph_core.run.record_file import RecordedRun
from gph_core.schedule import Schedule
from gph_core.search.log import StudyLog

from .calibration_entries import full_entry
from .damages import Reader

CONDITIONS = {"model": "m", "sigmas": [1.0, 0.5, 0.0], "cfg": 2.0}
RECORD = RunRecord(
    "0/2", "uniform", "FLUX", "stack", "residual reuse", (1.0, 0.5, 0.0), (0,), (1,), (0.2,),
    (0.1,), 100, ("a note",), gate_values=(None, 0.5), policy_data={"kind": "Reuse"},
)  # fmt: skip
RUN = CandidateRun("a", "uniform", "1", {"psnr": float("inf"), "ssim": 0.5}, 0.3, 1.2, RECORD)
SPLIT = decomposition.Split(
    "a", "a cat", 7, "uniform", "1",
    Decomposition((1,), (0.0, 1.0), (0.0, 0.5), (0.0, 1.5), (0.0, 0.0, 2.5), 4.0, 1e-9),
)  # fmt: skip
MEASURED = isolated_steps.Measured("a", "", 7, IsolatedStep(1, (0.5, 0.75), 1.5, 0.25, 0.125))


def lines(kind, item):
    """Reader of a kind of JSON lines."""

    def write(path):
        kind.begin(path, CONDITIONS)
        kind.append(path, item)
        kind.append(path, item)

    def read(path):
        with contextlib.suppress(ValueError):  # which the second one raises, too
            kind.read(path)
        return kind.begin(path, CONDITIONS)

    return Reader(write, read, False, "file.jsonl")


def write_states(path):
    with writing(path, 3) as add:
        for number in range(3):
            add(torch.full((2, 5), float(number)))


def write_path(path):
    fitted = next(p for p in bundled_paths() if "weights" in p.to_json().get("policy", {}))
    UserPaths(path.parent).save(fitted)
    next(path.parent.glob("*.json")).rename(path)


def write_results(path):
    results = Results(path, CONDITIONS)
    results.add(RUN)
    results.add(RUN)


A = Schedule((0, 1), 5)


def write_study(path):
    with contextlib.closing(StudyLog(path, CONDITIONS)) as log:
        log.add(A, [0, 1], [{"psnr": float("inf")}, {"psnr": 2.5}], 4.0, 1.0)


def read_study(path):
    with contextlib.closing(StudyLog(path, CONDITIONS)) as log:
        found = [*log], log.entries(A), log.spent()
        log.add(A, [3], [{"psnr": 1.0}], 4.0, 1.0)
        return found


def write_linear(path):
    weights = torch.tensor([[0.0, 0.0], [0.5, 0.0]])
    metadata = {"format": causal_linear.FORMAT, "conditions": '{"family": "FLUX", "cfg": 2.0}'}
    save_file({"weights": weights}, path, metadata)


def read_linear(path):
    found = causal_linear.load(path)
    return found.matrix.tolist(), found.conditions


WEIGHTS = {"features.0.weight": torch.ones(2, 3), "features.0.bias": torch.zeros(2)}

READERS = {
    "gph_core/calibration/file.py": Reader(
        lambda path: calibration_file.save(path, full_entry(), full_entry("SenCache")),
        calibration_file.load_all, True, "mine.safetensors",
    ),
    "gph_core/files/states_file.py": Reader(
        write_states, lambda path: torch.cat(list(States(path))).tolist(), True, "run.safetensors",
    ),
    "gph_core/run/record_file.py": lines(
        record_file.RECORDING, RecordedRun("a", "a cat", 7, RECORD),
    ),
    "gph_core/analysis/decomposition.py": lines(decomposition.LINES, SPLIT),
    "gph_core/analysis/isolated_steps.py": lines(isolated_steps.LINES, MEASURED),
    "gph_core/quality/shootout.py": Reader(
        write_results, lambda path: Results(path, CONDITIONS).get("a", "uniform", "1"), False,
        "file.jsonl",
    ),
    "gph_core/search/log.py": Reader(write_study, read_study, False, "study.sqlite"),
    "gph_core/paths/library.py": Reader(
        write_path, lambda path: UserPaths(path.parent).get(path.stem).to_json(), False,
        "mine.json",
    ),
    "gph_core/policies/causal_linear.py": Reader(
        write_linear, read_linear, False, "weights.safetensors",
    ),
    "gph_core/quality/lpips_network.py": Reader(
        lambda path: save_file(WEIGHTS, path), lpips_network.read_weights, False, "a.safetensors",
    ),
}  # fmt: skip
OF_OTHERS = {  # whose files the core does not write, or which writes by ``whole_file`` alone
    "gph_core/paths/library.py",
    "gph_core/policies/causal_linear.py",
    "gph_core/quality/lpips_network.py",
}
OTHER_FORMS = {
    "weights of torch": Reader(
        lambda path: torch.save(WEIGHTS, path), lpips_network.read_weights, False, "a.pth"
    ),
    "weights of an older torch": Reader(
        lambda path: torch.save(WEIGHTS, path, _use_new_zipfile_serialization=False),
        lpips_network.read_weights,
        False,
        "a.pth",
    ),
}
READERS_OF_NODES = {  # which need ComfyUI, by the tests of tests/comfy that they are in
    "nodes/library/settings.py": "page/test_readers.py",
    "nodes/semantic/clip_judge.py": "page/test_readers.py",
    "nodes/semantic/image_reward.py": "page/test_readers.py",
    # They go on without what they cannot read.
    "nodes/learn/remembered.py": "learn/test_readers.py",
    "nodes/learn/settings.py": "learn/test_readers.py",
}
