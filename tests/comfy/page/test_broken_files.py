"""Whatever lies in the user's folders, no node disappears, nothing hangs, and the file is named."""

import asyncio
import contextlib
import json
import os
import random
import sqlite3

import pytest
from golden_path_pack.gph_core.calibration import file as calibration_file
from golden_path_pack.gph_core.paths.library import UserPaths, bundled_paths
from golden_path_pack.gph_core.schedule import Schedule
from golden_path_pack.gph_core.search.log import StudyLog
from golden_path_pack.nodes import GoldenPathExtension
from golden_path_pack.nodes.library import library_routes

from ...support import broken
from ...support.calibration_entries import full_entry

PATHS, CALIBRATIONS, STUDIES = 140, 60, 40
MOST = 600  # characters of a message


def write(folder, name, content):
    folder.mkdir(parents=True, exist_ok=True)
    with contextlib.suppress(OSError):  # a name that this system does not take
        (folder / name).write_bytes(content)


def broken_path(seed):
    """The content of a path's file: one with weights, with spans or with neither, damaged."""
    rng = random.Random(seed)
    whole = rng.choice([*{type(p.policy): p.to_json() for p in bundled_paths()}.values()])
    if rng.random() < 0.4:
        return broken.damaged(json.dumps(whole).encode(), rng)
    return broken.wrong_data(whole, rng).encode("utf-8", "surrogatepass")


def broken_calibration(seed, whole):
    """A calibration file with another header, another value in it, or other bytes."""
    rng = random.Random(seed)
    length = int.from_bytes(whole[:8], "little")
    header, kind = json.loads(whole[8 : 8 + length]), rng.choice(("bytes", "header", "value"))
    if kind == "bytes":
        return broken.damaged(whole, rng)
    text = broken.wrong_data(header, rng) if kind == "header" else ""
    if kind == "value":
        values = header["__metadata__"]
        name = rng.choice(("entries", "entries", "conditions"))
        values[name] = broken.wrong_data(json.loads(values[name]), rng)
        text = json.dumps(header)
    found = text.encode("utf-8", "surrogatepass")
    return len(found).to_bytes(8, "little") + found + whole[8 + length :]


@pytest.fixture
def folder(user):
    return user / "golden_path"


@pytest.fixture
def calibration(tmp_path):
    """The bytes of a whole calibration file."""
    path = tmp_path / "whole.safetensors"
    calibration_file.save(path, full_entry(), full_entry("SenCache"))
    return path.read_bytes()


def infos():
    """What ``/object_info`` says of each node, as it is sent."""
    every = asyncio.run(GoldenPathExtension().get_node_list())
    return {node.__name__: json.dumps(node.GET_NODE_INFO_V1()) for node in every}


def test_every_node_is_there_and_every_broken_path_is_named(folder, calibration, caplog):
    before = infos()
    for seed in range(PATHS):
        write(folder / "paths", f"{seed}.json", broken_path(seed))
    whole = json.dumps(bundled_paths()[0].to_json()).encode()
    for name in broken.NAMES:
        write(folder / "paths", f"{name}.json", whole)
    for seed in range(CALIBRATIONS):
        write(folder / "calibrations", f"{seed}.safetensors", broken_calibration(seed, calibration))
    for name in broken.NAMES:
        write(folder / "calibrations", f"{name}.safetensors", calibration)
        write(folder / "runs" / f"{name}x", "runs.jsonl", broken_path(0))
    (folder / "paths" / "folder.json").mkdir()
    if hasattr(os, "mkfifo"):  # who reads from it waits forever
        os.mkfifo(folder / "paths" / "pipe.json")
    assert infos().keys() == before.keys()
    listed = library_routes.list_paths()
    json.dumps(listed)
    offered = {f"{entry['id'].removeprefix('user/')}.json" for entry in listed["paths"]}
    named = {entry["file"] for entry in listed["broken"]}
    files = {file.name for file in (folder / "paths").iterdir()}
    assert files <= offered | named
    assert {"folder.json", "...json", "none.json"} & files <= named
    assert len(named) > PATHS / 2
    assert all(file in caplog.text for file in named if file.isprintable())
    caplog.text.encode("utf-8")  # as a log file is written
    assert max(len(entry["reason"]) for entry in listed["broken"]) < MOST


def refusal(work, *arguments):
    """What an error of a call says; empty without one."""
    try:
        work(*arguments)
    except (OSError, ValueError) as error:
        return str(error)
    return ""


@pytest.mark.parametrize("part", range(4))
def test_a_broken_path_is_named_or_can_be_used(folder, part):
    library = UserPaths(folder / "paths")
    reasons = []
    for seed in range(part, PATHS, 4):
        write(library.folder, "x.json", broken_path(seed))
        reasons.append(refusal(library.get, "x"))
        if not reasons[-1]:
            path = library.get("x")
            library.save(path, overwrite=True)
            assert library.get("x").card == path.card
    found = [reason for reason in reasons if reason]
    assert all(reason.startswith("x.json is no golden path: ") for reason in found)
    assert len(found) > PATHS / 4 / 2


def test_a_broken_calibration_is_named_or_can_be_used(folder, calibration):
    path, reasons = folder / "x.safetensors", []
    for seed in range(CALIBRATIONS):
        write(folder, path.name, broken_calibration(seed, calibration))
        reasons.append(refusal(calibration_file.load, path, "TeaCache"))
        if not reasons[-1]:
            entry = calibration_file.load(path, "TeaCache")
            settings = {"full steps": 3, "policy": "another"}
            assert "no threshold" in refusal(entry.threshold, settings, 9)
            entry.outcomes({}, ["a cat/7"])
            calibration_file.save(folder / "again.safetensors", entry)
            (folder / "again.safetensors").unlink()
    found = [reason for reason in reasons if reason]
    assert all(path.name in reason and len(reason) < MOST for reason in found)
    assert len(found) > CALIBRATIONS / 2


A, B = Schedule((0, 1), 5), Schedule((0, 3), 5)
CONDITIONS = {"model": "m", "sigmas": [1.0, 0.5]}


@pytest.fixture
def study(tmp_path):
    """The bytes of a whole memory of a study."""
    log = StudyLog(tmp_path / "whole", CONDITIONS)
    log.add(A, [0, 1], [{"psnr": 1.0}, {"psnr": 2.0}], 4.0, 1.0)
    log.add(B, [0], [{"psnr": 3.0}], 2.0, 1.0)
    log.close()
    return (tmp_path / "whole").read_bytes()


def break_study(seed, path, whole):
    """Write the memory of a study in which bytes are wrong, or one value is something else."""
    rng = random.Random(seed)
    if rng.random() < 0.4:
        path.write_bytes(broken.damaged(whole, rng))
        return
    path.write_bytes(whole)
    column = rng.choice(("metrics", "schedule", "full_steps", "value", "field"))
    table = "condition" if column in ("value", "field") else "measurement"
    value = rng.choice((broken.wrong_data({"psnr": 1.0}, rng), rng.randbytes(9), 5, "", "x" * 1000))
    value = value.encode() if isinstance(value, str) else value
    with contextlib.closing(sqlite3.connect(path)) as database:
        database.execute("PRAGMA synchronous = OFF")
        database.execute(f"UPDATE {table} SET {column} = ? WHERE rowid = 1", (value,))
        database.commit()


def use_study(path):
    """Do all that a search does with the memory of a study."""
    with contextlib.closing(StudyLog(path, CONDITIONS)) as log:
        assert [*log, log.metrics(A), log.entries(B), log.spent()]
        log.add(A, [3], [{"psnr": 1.0}], 4.0, 1.0)


def test_a_broken_study_is_named_or_can_be_used(tmp_path, study):
    reasons = []
    for seed in range(STUDIES):
        break_study(seed, tmp_path / "x.sqlite", study)
        reasons.append(refusal(use_study, tmp_path / "x.sqlite"))
    found = [reason for reason in reasons if reason]
    assert all("x.sqlite" in reason and len(reason) < MOST for reason in found)
    assert len(found) > STUDIES / 3
