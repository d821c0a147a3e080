"""library/user_files: whatever lies in the user's folders, no node disappears, the file is named.

What becomes of each file is the contract of readers (test_readers.py).
"""

import asyncio
import contextlib
import json
import os
import random

import pytest
from golden_path_pack.gph_core.calibration import file as calibration_file
from golden_path_pack.gph_core.paths.library import bundled_paths
from golden_path_pack.nodes import GoldenPathExtension
from golden_path_pack.nodes.library import library_routes

from ...support import broken
from ...support.calibration_entries import full_entry

PATHS, CALIBRATIONS = 140, 60
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
