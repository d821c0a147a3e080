"""Calibrations of one model and setting in one safetensors file, one entry a method.

The header holds the format, the conditions and, for each method, all that is no tensor. A file is
replaced as a whole: a crash leaves the old one as it was (beside it, if the process is killed, one
that ends in ``.tmp``), and who reads meanwhile gets the old or the new one.
"""

from __future__ import annotations

import json
import os
import time
import uuid
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from safetensors import SafetensorError
from safetensors.torch import load as tensors_of
from safetensors.torch import save as bytes_of
from torch import Tensor

from ..files.condition_diff import first_difference, plain
from .entry import NOISE_LEVELS, Calibration, difference_text

# Windows replaces no file that another process reads: seconds between the attempts.
PAUSES_S = (0.05, 0.2, 1.0)

FORMAT = "golden-path-calibration-1"
MAX_REASON = 300  # characters: what is wrong may quote the file


def load(path: Path, method: str) -> Calibration:
    """The entry of one method; ``ValueError`` that names the file if there is none."""
    entries = load_all(path)
    if method not in entries:
        raise ValueError(
            f"{path.name} holds no calibration of {method} (it has: {', '.join(entries)}); "
            "calibrate it, or choose another file"
        )
    return entries[method]


def load_all(path: Path) -> dict[str, Calibration]:
    """All entries by method; ``ValueError`` that names the file if they cannot be read."""
    try:
        # Read at once: a file that is mapped into memory cannot be replaced on Windows.
        data = path.read_bytes()
        tensors = tensors_of(data)
    except (OSError, SafetensorError) as error:
        reason = str(error)[:MAX_REASON]
        raise ValueError(f"{path.name} cannot be read as a safetensors file: {reason}") from error
    header = _header(data)
    if header.get("format") != FORMAT:
        raise ValueError(
            f"{path.name} is not a calibration file of this version of the pack; choose another "
            "file"
        )
    try:
        conditions = json.loads(header["conditions"])
        return {
            method: _entry(method, conditions, fields, tensors, path.name)
            for method, fields in json.loads(header["entries"]).items()
        }
    except (KeyError, TypeError, ValueError, AttributeError, RecursionError) as error:
        reason = repr(error)[:MAX_REASON]
        raise ValueError(
            f"{path.name} is a damaged calibration file ({reason}); delete it and calibrate again"
        ) from error


def load_for(path: Path, conditions: Mapping[str, Any]) -> dict[str, Calibration]:
    """The entries of a file of these conditions by method; none if it is not there.

    ``ValueError`` for a file of other conditions, which names the first one that differs.
    """
    entries = load_all(path) if path.exists() else {}
    for other in entries.values():
        difference = first_difference(other.conditions, plain(dict(conditions)), NOISE_LEVELS)
        if difference:
            raise ValueError(
                f"{path.name} holds calibrations for "
                f"{difference_text(difference, 'this one is for')}; "
                "choose another file name, one for each model and setting"
            )
    return entries


def save(path: Path, *calibrations: Calibration) -> None:
    """Add entries of the same conditions to a file, or replace them there; it may not exist yet.

    Of two processes that do so at the same moment both read the same old file, and the file of the
    one that ends later stays: it lacks what the other has just added, but is whole.

    ``ValueError`` for a file of other conditions, as of ``load_for``.
    """
    entries = load_for(path, calibrations[0].conditions)
    _write(path, entries | {calibration.method: calibration for calibration in calibrations})


def _write(path: Path, entries: Mapping[str, Calibration]) -> None:
    tensors: dict[str, Tensor] = {}
    header = {
        "format": FORMAT,
        "conditions": json.dumps(next(iter(entries.values())).conditions),
        "entries": json.dumps({m: _fields(entry, tensors) for m, entry in entries.items()}),
    }
    path.parent.mkdir(parents=True, exist_ok=True)
    # The old file stays until the new one is on the disk. Two processes may write at once.
    temporary = path.with_name(f"{path.name}.{uuid.uuid4().hex[:12]}.tmp")
    try:
        with temporary.open("xb") as file:
            file.write(bytes_of(tensors, header))
            file.flush()
            os.fsync(file.fileno())
        _replace(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)


def _replace(new: Path, path: Path) -> None:
    for pause in PAUSES_S:
        try:
            new.replace(path)
        except PermissionError:
            time.sleep(pause)
        else:
            return
    new.replace(path)


def _fields(entry: Calibration, tensors: dict[str, Tensor]) -> dict[str, Any]:
    """Fields of the header; the tensors are added to the others."""

    def put(group: str, values: Mapping[str, Any]) -> list[str]:
        named = {n: value for n, value in values.items() if isinstance(value, Tensor)}
        for name, tensor in named.items():
            # Copied, because tensors that share memory cannot be saved.
            tensors[_key(entry.method, group, name)] = tensor.detach().cpu().contiguous().clone()
        return list(named)

    return {
        "tensors": put("values", entry.values),
        "numbers": {n: v for n, v in entry.values.items() if not isinstance(v, Tensor)},
        "samples": {e: put(f"samples/{e}", named) for e, named in entry.samples.items()},
        "report": dict(entry.report),
        "thresholds": list(entry.thresholds),
        "runs": list(entry.runs),
    }


def _entry(
    method: str, conditions: dict, fields: dict[str, Any], tensors: dict[str, Tensor], name: str
) -> Calibration:
    def take(group: str, names: list[str]) -> dict[str, Tensor]:
        return {name: tensors[_key(method, group, name)] for name in names}

    for found in fields["thresholds"]:
        _check(found, _THRESHOLD)
        _check(found["settings"], _SETTINGS)
    for run in fields["runs"]:
        _check(run, _RUN)
    return Calibration(
        method,
        conditions,
        values={**take("values", fields["tensors"]), **fields["numbers"]},
        report=dict(fields["report"]),
        thresholds=tuple(fields["thresholds"]),
        samples={e: take(f"samples/{e}", names) for e, names in fields["samples"].items()},
        runs=tuple(fields["runs"]),
        file=name,
    )


_NUMBER = (int, float)
# Fields of a threshold, its settings, and a run that others rely on, and what they are.
_THRESHOLD = {"settings": dict, "target": _NUMBER, "threshold": _NUMBER}
_SETTINGS = {"full steps": int, "policy": str}
_RUN = {"settings": dict, "example": str, "num_cached": int, "low": _NUMBER, "high": _NUMBER}


def _check(fields: Mapping[str, Any], types: Mapping[str, Any]) -> None:
    """Raise ``KeyError`` or ``TypeError`` for a field that is missing or something else."""
    for name, wanted in types.items():
        if not isinstance(fields[name], wanted):
            raise TypeError(f"{name} is {fields[name]!r}")


def _key(method: str, group: str, name: str) -> str:
    return f"{method}/{group}/{name}"


def _header(data: bytes) -> dict[str, str]:
    """The metadata of a safetensors file that was read: 8 bytes of length, then JSON."""
    length = int.from_bytes(data[:8], "little")
    return json.loads(data[8 : 8 + length]).get("__metadata__") or {}
