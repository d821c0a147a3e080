"""Broken files and texts, made from whole ones by a seeded random generator."""

from __future__ import annotations

import copy
import json
import random
from typing import Any

_RAW = "@raw@"  # stands for what JSON writers do not write
_RAWS = ("1e400", "-1e400", "NaN", "9" * 400, "9" * 5000, "[" * 3000 + "]" * 3000, "tru", "{")
_ODD = (
    None, True, -1, 0.5, 2**70, "", "..", "../../x", "\x00", "\ud800", "x" * 100_000, [], {},
    [[]], [None], {"": {}}, ["a", 1], "0-2,9/10", [1, 0.5, 0],
)  # fmt: skip
# For files; no system takes all of them.
NAMES = ("..", "...", "-", " ", " a", "a.", "con", "none", "a\nb", "a:b", "yours: x", "\udcff")


def damaged(whole: bytes, rng: random.Random) -> bytes:
    """A file that is cut off, or has other bytes in places, or holds nothing of it."""
    kind = rng.choice(("cut", "cut", "changed", "changed", "random", "empty", "more", "zeros"))
    if kind == "cut":
        return whole[: rng.randrange(len(whole))]
    if kind == "changed":
        content = bytearray(whole)
        for _ in range(rng.choice((1, 3, 30))):
            content[rng.randrange(len(content))] = rng.randrange(256)
        return bytes(content)
    made = {"random": rng.randbytes(rng.randrange(300)), "empty": b"", "more": whole + whole}
    return made.get(kind, bytes(len(whole)))


def wrong_data(data: Any, rng: random.Random) -> str:
    """JSON text of data of which one item, field or the whole is something else, or missing."""
    whole = {"": copy.deepcopy(data)}
    holder, key = _place(whole, rng)
    kind = rng.choice(("odd", "odd", "odd", "raw", "missing", "unknown"))
    if kind == "missing" and holder is not whole:
        del holder[key]
    elif kind == "unknown" and isinstance(holder, dict) and holder is not whole:
        holder[rng.choice(("unknown", "", "name"))] = rng.choice(_ODD)
    else:
        holder[key] = _RAW if kind == "raw" else rng.choice(_ODD)
    return json.dumps(whole[""]).replace(f'"{_RAW}"', rng.choice(_RAWS))


def _place(holder: Any, rng: random.Random) -> tuple[Any, Any]:
    """A field or item at any depth, as what holds it and the key there."""
    key: Any = ""
    while isinstance(holder[key], (dict, list)) and holder[key] and rng.random() < 0.8:
        holder = holder[key]
        key = rng.choice(list(holder) if isinstance(holder, dict) else range(len(holder)))
    return holder, key


def wrong_schedule(rng: random.Random) -> str:
    """Text near that of a schedule."""
    pieces = ("0", "1", "7", "-", ",", "/", " ", "0-2", "9999", "/50", "٣", "²", "1e400", "\n")
    long = ("1" * 20_000, "0-9999," * 9000 + "0/10000", "9" * 5000 + "/9", "0/" + "9" * 5000)
    if rng.random() < 0.1:
        return rng.choice(long)
    return "".join(rng.choices(pieces, k=rng.randrange(9)))
