"""Calibrations of one model and setting in one safetensors file, one entry for each method.

The header holds the format, the conditions, everything of each method but tensors, and the file's
checksum, which older versions of the pack did not write. A file is replaced as a whole.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from io import BytesIO
from pathlib import Path
from typing import Any

from safetensors.torch import load as tensors_of
from safetensors.torch import save as bytes_of
from torch import Tensor

from ..files import checksum, forms, reading, strict_json, whole_file
from ..files.condition_diff import first_difference, plain
from .entry import COUNTS, NOISE_LEVELS, Calibration, difference_text

FORMAT = "golden-path-calibration-2"
FORMATS = ("golden-path-calibration-1", FORMAT)  # that can be read
MOST_BYTES = 2**32  # 4 GiB; the samples of a hundred examples have some megabytes
RENEWED = "calibrate again to renew it"


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
        # Read as a whole: on Windows a file that is mapped into memory cannot be replaced.
        data = reading.read(path, MOST_BYTES)
        header = checksum.header_of(BytesIO(data))
        metadata = header.metadata
        if metadata.get("format") in FORMATS:
            _check_sum(header, data)
        tensors = tensors_of(data)
    except (OSError, *reading.ERRORS) as error:
        raise ValueError(
            f"{path.name} cannot be read as a safetensors file: {reading.reason(error)}; delete "
            "it and calibrate again, or choose another file"
        ) from error
    if metadata.get("format") not in FORMATS:
        raise ValueError(
            f"{path.name} is not a calibration file of this version of the pack; choose another "
            "file"
        )
    note = "" if checksum.KEY in metadata else f"{checksum.tell_of_old(path)}; {RENEWED}"
    try:
        conditions, entries = (
            strict_json.loads(metadata[name], is_finite=False) for name in ("conditions", "entries")
        )
        levels = {name: [forms.NUMBER] for name in NOISE_LEVELS if name in conditions}
        forms.check(conditions, levels, "the conditions")
        return {
            method: _entry(method, conditions, fields, tensors, path.name, note)
            for method, fields in entries.items()
        }
    except reading.ERRORS as error:
        raise ValueError(
            f"{path.name} is a damaged calibration file ({reading.reason(error)}); delete it and "
            "calibrate again"
        ) from error


def load_for(path: Path, conditions: Mapping[str, Any]) -> dict[str, Calibration]:
    """The entries of a file made under these conditions, by method; none if there is no file.

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

    If two processes do so at once, the file of the one that ends later stays: it is whole, but
    lacks what the other has just added.

    ``ValueError`` for a file of other conditions, as from ``load_for``.
    """
    entries = load_for(path, calibrations[0].conditions)
    _write(path, entries | {calibration.method: calibration for calibration in calibrations})


def _write(path: Path, entries: Mapping[str, Calibration]) -> None:
    tensors: dict[str, Tensor] = {}
    header = {
        "format": FORMAT,
        "conditions": json.dumps(next(iter(entries.values())).conditions),
        "entries": json.dumps({m: _fields(entry, tensors) for m, entry in entries.items()}),
        checksum.KEY: checksum.BLANK,
    }
    whole_file.write(path, checksum.filled(bytes_of(tensors, header)))


def _check_sum(header: checksum.Header, data: bytes) -> None:
    """Raise ``ValueError`` unless the file's checksum is right, or it is too old to have one."""
    if (checksum.KEY in header.metadata) != (header.metadata["format"] == FORMAT):
        raise ValueError(f"its checksum is missing, or its format another one; {checksum.ADVICE}")
    if checksum.KEY in header.metadata:
        checksum.check(header, [data[len(header.content) :]])


def _fields(entry: Calibration, tensors: dict[str, Tensor]) -> dict[str, Any]:
    """Fields of the header; tensors are put into ``tensors``."""

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
    method: str, conditions: dict, fields: dict[str, Any], tensors: dict[str, Tensor], name: str,
    note: str,
) -> Calibration:  # fmt: skip
    def take(group: str, names: list[str]) -> dict[str, Tensor]:
        return {name: tensors[_key(method, group, name)] for name in names}

    _check(fields)
    return Calibration(
        method,
        conditions,
        values={**take("values", fields["tensors"]), **fields["numbers"]},
        report=dict(fields["report"]),
        thresholds=tuple(fields["thresholds"]),
        samples={e: take(f"samples/{e}", names) for e, names in fields["samples"].items()},
        runs=tuple(fields["runs"]),
        file=name,
        note=note,
    )


# The form that other code relies on.
_SHAPE = {
    "report": dict,
    "thresholds": [{
        "settings": {"full steps": int, "policy": str},
        "target": forms.NUMBER, "threshold": forms.NUMBER, "num_examples": int,
    }],
    "runs": [{
        "settings": dict, "example": str, "num_cached": int,
        "low": forms.NUMBER, "high": forms.NUMBER,
    }],
}  # fmt: skip


def _check(fields: Any) -> None:
    """Raise ``ValueError`` that names a part that is missing or of another type.

    Numbers may be infinite, as ends of intervals of thresholds are, but not NaN.
    """
    forms.check(fields, _SHAPE, "the entry")
    counts = {name: count for name, count in fields["report"].items() if name in COUNTS}
    forms.check(counts, {...: int}, "the report")
    for item in (counts, *fields["thresholds"]):
        if below := [name for name in ("threshold", *COUNTS) if item.get(name, 0) < 0]:
            raise ValueError(f"{below[0]} must be 0 or more; found {item[below[0]]}")
    for item in (*fields["thresholds"], *fields["runs"]):
        if wrong := [name for name, value in item.items() if value != value]:
            raise ValueError(f"{wrong[0]} is no number")


def _key(method: str, group: str, name: str) -> str:
    return f"{method}/{group}/{name}"
