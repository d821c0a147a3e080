"""devtools/fingerprints.py: what counts as a difference, and what does not."""

import contextlib
import json
import random
import sqlite3

from PIL import Image, PngImagePlugin

from devtools.fingerprints import Prints, differences, stable


def test_a_comparison_names_what_differs_is_missing_or_new():
    before = {"same": "1", "changed": "1", "gone": "1"}
    now = {"same": "1", "changed": "2", "added": "1"}
    assert differences(before, now) == ["new: added", "differs: changed", "missing: gone"]
    assert differences(before, dict(before)) == []


def test_times_dates_and_places_do_not_count_but_figures_do():
    def line(seconds, place, score, day):
        text = f"4 of 10 steps full ({seconds} s), {seconds}x faster, PSNR {score} dB, in {place}"
        return {"score": score, "full_seconds": [seconds], "candidate": text, "created": day}

    one = stable(line(0.25, "/tmp/a/file.json", 30.5, "2026-11-27T08:00:01Z"))
    assert one == stable(line(1.5, "/home/b/file.json", 30.5, "2027-01-01"))
    assert one != stable(line(0.25, "/tmp/a/file.json", 30.6, "2026-11-27T08:00:01Z"))
    assert one["candidate"] == "4 of 10 steps full (# s), #x faster, PSNR 30.5 dB, in #/file.json"


def test_json_inside_a_text_is_looked_into():
    assert stable(json.dumps({"seconds": 1.0, "steps": [0, 3]})) == {"steps": [0, 3]}


def test_a_database_counts_by_its_rows_in_order(tmp_path):
    prints = Prints()
    for name, scores in (("a", (1.5, 2.5)), ("b", (1.5, 2.5)), ("c", (2.5, 1.5))):
        path = tmp_path / f"{name}.sqlite"
        with contextlib.closing(sqlite3.connect(path)) as database:
            database.execute("CREATE TABLE measurement (score REAL, seconds REAL)")
            for score in scores:
                database.execute("INSERT INTO measurement VALUES (?, ?)", (score, random.random()))
            database.commit()
        prints.file(name, path)
    assert prints.found["a"] == prints.found["b"] != prints.found["c"]


def test_a_picture_counts_by_its_pixels_alone(tmp_path):
    prints = Prints()
    for name, colour, note in (("a", 1, "x"), ("b", 1, "y"), ("c", 2, "x")):
        info = PngImagePlugin.PngInfo()
        info.add_text("workflow", note)
        path = tmp_path / f"{name}.png"
        Image.new("RGB", (2, 2), (colour, 0, 0)).save(path, pnginfo=info)
        prints.file(name, path)
    assert prints.found["a"] == prints.found["b"] != prints.found["c"]
