import json
import math
import os
import time
from dataclasses import replace
from types import SimpleNamespace

import pytest

from demo import sampling
from gph_core.files.whole_file import SUFFIX_BYTES
from gph_core.model.families import FAMILIES
from gph_core.paths.golden_path import DRAWN, PUBLISHED, SEARCHED, SHARED, WITH_PACK, GoldenPath
from gph_core.paths.library import UserPaths, _read, bundled_paths, check_name
from gph_core.policies.fitted import Fitted
from gph_core.schedule import Schedule

PATH = GoldenPath("mine", Schedule.parse("0-2/5"), SEARCHED, quality={"PSNR dB": 20.5})


@pytest.fixture
def library(tmp_path):
    return UserPaths(tmp_path / "golden_path" / "paths")


# --- what comes with the pack ---------------------------------------------------------------------


def published():
    return [path for path in bundled_paths() if path.origin == PUBLISHED]


def test_every_published_path_names_model_conditions_and_source():
    assert len({path.name for path in bundled_paths()}) == len(bundled_paths())
    families = {family.name for family in FAMILIES}
    for path in published():
        assert path.family in families, path.name
        assert path.model
        assert path.architecture
        assert path.source
        assert path.conditions["sampler"] in ("euler", "uni_pc")


@pytest.mark.parametrize(
    ("model", "counts"),
    [
        ("FLUX.1-dev", {21, 13, 9}),
        ("Qwen-Image", {25, 21, 17, 13, 10, 9}),
        ("Qwen-Image-2512", {25, 17, 10}),
        ("HunyuanVideo", {21, 13, 9}),
        ("Wan 2.1 T2V 1.3B", {21, 13, 9}),
        ("Z-Image", {25, 20, 17, 15, 13}),
    ],
)
def test_all_models_and_counts_are_there(model, counts):
    schedules = [path.schedule for path in published() if path.model == model]
    assert {schedule.num_full for schedule in schedules} == counts
    assert {schedule.num_steps for schedule in schedules} == {50}


def test_the_demo_model_has_a_fitted_path_for_each_count():
    fitted = [path for path in bundled_paths() if isinstance(path.policy, Fitted)]
    found = {}
    for path in fitted:
        steps, cfg = path.schedule.num_steps, path.policy.conditions["cfg"]
        found.setdefault((steps, cfg), set()).add(path.schedule.num_full)
        # ComfyUI takes them from a table of 1,000.
        levels = pytest.approx(sampling.sigmas(steps).tolist(), abs=1e-3)
        assert list(path.sigmas) == levels
        assert path.policy.conditions["sigmas"] == levels
        assert path.policy.covered(path.schedule) == path.schedule
    assert found == {
        (50, 5.0): {21, 13, 9, 6},
        (50, 1.0): {13, 9},
        (28, 5.0): {12, 7, 5},
        (20, 5.0): {8, 5, 4},
    }


def test_noise_levels_are_those_of_the_published_shifts():
    # By hand: exp(1.15) = 3.158193; half of the way is t = 0.5, where a shift s gives s / (s + 1).
    halfway = {path.model: path.sigmas[25] for path in published() if path.sigmas}
    assert halfway["FLUX.1-dev"] == pytest.approx(3.158193 / 4.158193, abs=1e-6)
    assert halfway["HunyuanVideo"] == pytest.approx(7 / 8, abs=1e-6)
    # 0.999 of a half: 5 · 0.4995 / (1 + 4 · 0.4995)
    assert halfway["Wan 2.1 T2V 1.3B"] == pytest.approx(2.4975 / 2.998, abs=1e-6)
    qwen = next(path.sigmas for path in published() if path.model == "Qwen-Image" and path.sigmas)
    assert (qwen[0], qwen[-2], qwen[-1]) == pytest.approx((1, 0.02, 0))


# --- the user's -----------------------------------------------------------------------------------


def test_what_is_saved_is_read_again(library):
    assert library.read() == ([], {})
    library.save(PATH)
    assert library.read() == ([PATH], {})
    assert library.get("mine") == PATH
    assert [file.name for file in library.folder.iterdir()] == ["mine.json"]


def test_a_name_in_use_is_kept_unless_told_otherwise(library):
    library.save(PATH)
    other = replace(PATH, notes="other")
    with pytest.raises(FileExistsError, match="there is a golden path named 'mine' already"):
        library.save(other)
    assert library.get("mine") == PATH
    library.save(other, overwrite=True)
    assert library.get("mine") == other


def test_the_name_of_a_file_is_that_of_its_path(library):
    library.save(PATH)
    (library.folder / "mine.json").rename(library.folder / "copied by hand.json")
    assert [path.name for path in library.read()[0]] == ["copied by hand"]


def test_rename_and_delete(library):
    library.save(PATH)
    library.save(replace(PATH, name="second"))
    for name in ("second", "Second"):
        with pytest.raises(FileExistsError, match="named 'second' already"):
            library.rename("mine", name)
    library.rename("mine", "Mine")
    library.rename("Mine", "third")
    library.delete("second")
    assert [path.name for path in library.read()[0]] == ["third"]
    for missing in (library.delete, library.get):
        with pytest.raises(ValueError, match="no golden path named 'second' of yours"):
            missing("second")
    with pytest.raises(ValueError, match="no golden path named 'second'"):
        library.rename("second", "fourth")


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("{", "no JSON text"),
        (json.dumps(PATH.to_json() | {"conditions": {"cfg": float("nan")}}), "holds NaN"),
        (json.dumps(PATH.to_json() | {"schedule": "0-9/5"}), "step 9 in '0-9/5' is outside"),
        ("\udcff", "no JSON text"),
    ],
)
def test_a_broken_file_is_named_and_left_out(library, text, reason):
    library.save(PATH)
    (library.folder / "broken.json").write_bytes(text.encode("utf-8", "surrogateescape"))
    paths, broken = library.read()
    assert paths == [PATH]
    assert list(broken) == ["broken.json"]
    assert reason in broken["broken.json"]
    with pytest.raises(ValueError, match=r"broken\.json is no golden path"):
        library.get("broken")


def test_what_is_saved_can_be_read(library):
    for wrong in ({"sigmas": (1.0, 0.9, 0.9, 0.5, 0.1, 0.0)}, {"conditions": {"x": math.inf}}):
        with pytest.raises(ValueError, match=r"falling noise levels|JSON|finite"):
            library.save(replace(PATH, **wrong))
    assert not library.folder.exists()


def test_a_shared_path_was_not_searched_here(library):
    library.import_text(json.dumps(PATH.to_json()))
    assert library.get("mine") == replace(PATH, origin=SHARED)
    drawn = replace(PATH, name="drawn", origin=DRAWN)
    library.import_text(json.dumps(drawn.to_json()))
    assert library.get("drawn") == drawn
    with pytest.raises(FileExistsError):
        library.import_text(json.dumps(PATH.to_json()))


@pytest.mark.parametrize("name", ["a", "Z-Image, 8 of 25 (v1.2)", "größer + 金色路径_2"])
def test_usual_names_can_be_used(library, name):
    library.save(replace(PATH, name=name))
    assert [path.name for path in library.read()[0]] == [name]


@pytest.mark.parametrize(
    "name",
    ["", "a" * 101, "../up", "a/b", "a\\b", "c:x", "a\0", "a\n", "a*", ".hidden", "end.", " a",
     "a ", "none", "None", "CON", "nul.x", "com1", "COM¹", "lpt².x", "aux .x"],
)  # fmt: skip
def test_names_that_are_no_file_names_are_refused(library, name):
    with pytest.raises(ValueError, match=r"name|contains|begins"):
        check_name(name)
    for action in (
        lambda: library.save(replace(PATH, name=name)),
        lambda: library.get(name),
        lambda: library.delete(name),
        lambda: library.rename(name, "x"),
    ):
        with pytest.raises(ValueError, match=r"name|contains|begins"):
            action()
    assert not library.folder.exists()


@pytest.mark.parametrize("sign", ["a", "径", "𝔞"])
def test_what_is_made_of_the_longest_name_is_a_file_name_on_every_system(sign):
    names = [sign * count for count in range(1, 101)]
    longest = [name for name in names if fits(name)][-1]
    for ending in (".json", ".safetensors", ".jsonl"):
        assert len(f"{longest}{ending}".encode()) + SUFFIX_BYTES <= 255
    assert len(f"{longest} BudCache 01234567.sqlite-journal".encode()) <= 255


def fits(name):
    try:
        check_name(name)
    except ValueError:
        return False
    return True


def test_a_name_of_too_many_bytes_is_refused_before_anything_is_written(library):
    name = "径" * 76
    with pytest.raises(ValueError, match="has 228 bytes, a file's name can have 222"):
        library.save(replace(PATH, name=name))
    assert not library.folder.exists()
    # A file that is there can be read, and be given a shorter name.
    library.save(PATH)
    (library.folder / "mine.json").rename(library.folder / f"{name}.json")
    assert library.get(name).name == name
    library.rename(name, "short")
    assert [path.name for path in library.read()[0]] == ["short"]


# --- names that are one file on some systems ------------------------------------------------------


def test_another_case_of_a_name_is_another_path(library):
    library.save(PATH)
    for action in (library.delete, lambda name: library.rename(name, "x")):
        with pytest.raises(ValueError, match="named 'MINE' of yours; there is 'mine'"):
            action("MINE")
    for overwrite in (False, True):
        with pytest.raises(ValueError, match="'MINE' and 'mine', which is there, are one file"):
            library.save(replace(PATH, name="MINE"), overwrite)
    assert library.get("MINE") == PATH  # which a workflow made on Windows may say
    assert [file.name for file in library.folder.iterdir()] == ["mine.json"]


def test_of_two_names_the_exact_one_is_deleted(library):
    library.save(PATH)
    content = (library.folder / "mine.json").read_bytes()
    (library.folder / "MINE.json").write_bytes(content)
    if len(list(library.folder.iterdir())) < 2:  # both names are one file here
        with pytest.raises(ValueError, match="there is 'mine'"):
            library.delete("MINE")
        return
    library.save(replace(PATH, notes="new"), overwrite=True)
    library.delete("MINE")
    assert library.read()[0] == [replace(PATH, notes="new")]


def test_a_letter_with_its_accent_apart_is_the_same_letter(library):
    apart = "cafe\u0301"
    library.save(replace(PATH, name="caf\u00e9"))
    with pytest.raises(ValueError, match="are one file on some systems"):
        library.save(replace(PATH, name=apart))
    assert library.get(apart).name == "caf\u00e9"


def test_renaming_never_takes_the_place_of_a_file_that_comes_meanwhile(library, monkeypatch):
    library.save(PATH)
    monkeypatch.setattr(library, "_alike", lambda name: ["mine"] if name == "mine" else [])
    (library.folder / "new.json").write_text("another's")
    with pytest.raises(FileExistsError, match="named 'new' already"):
        library.rename("mine", "new")
    assert (library.folder / "new.json").read_text() == "another's"
    assert library.get("mine") == PATH


# --- what is kept in memory -----------------------------------------------------------------------


@pytest.fixture
def readings(monkeypatch):
    """Names of the files that were read."""
    found = []

    def read(file):
        found.append(file.name)
        return _read(file)

    monkeypatch.setattr("gph_core.paths.library._read", read)
    return found


def settle(library, seconds=60):
    for file in library.folder.iterdir():
        then = file.stat().st_mtime - seconds
        os.utime(file, (then, then))


def test_a_file_is_read_once_until_it_changes(library, readings):
    library.save(PATH)
    library.save(replace(PATH, name="second"))
    settle(library)
    first = library.read()
    readings.clear()
    assert UserPaths(library.folder).read() == first  # also of a library made anew
    assert library.get("mine") == PATH
    assert readings == []
    file = library.folder / "second.json"
    file.write_text(file.read_text().replace("0-2/5", "0-3/5"))
    settle(library)
    assert library.get("second").schedule == Schedule.parse("0-3/5")
    assert set(readings) == {"second.json"}


def test_a_change_within_the_resolution_of_the_time_stamp_is_seen(library, monkeypatch):
    """As on FAT: two seconds, and no other trace."""
    library.save(PATH)
    file = library.folder / "mine.json"
    written, size = 2 * (time.time() // 2), file.stat().st_size

    def stat():
        rough = {"st_mtime_ns": int(written * 1e9), "st_ctime_ns": 0, "st_ino": 0}
        return SimpleNamespace(st_mtime=written, st_size=size, **rough)

    entry = SimpleNamespace(name=file.name, path=str(file), stat=stat)
    monkeypatch.setattr(library, "_entries", lambda: [entry])
    assert library.read()[0] == [PATH]
    file.write_text(file.read_text().replace("0-2/5", "0-3/5"))  # of the same length
    assert library.read()[0][0].schedule == Schedule.parse("0-3/5")


def test_what_this_library_writes_is_read_again(library):
    library.save(PATH)
    settle(library)
    library.read()
    library.save(replace(PATH, notes="new"), overwrite=True)
    assert library.get("mine").notes == "new"
    library.delete("mine")
    assert library.read() == ([], {})


def test_a_file_that_goes_while_the_folder_is_read_is_no_broken_one(library, monkeypatch):
    library.save(PATH)
    entries = library._entries()
    library.delete("mine")
    monkeypatch.setattr(library, "_entries", lambda: entries)
    assert library.read() == ([], {})
    with pytest.raises(ValueError, match="there is no golden path named 'mine' of yours"):
        library.get("mine")


def test_paths_of_the_demo_model_came_with_the_pack():
    demo = [path for path in bundled_paths() if path.model == "Golden Path Demo Model"]
    assert [path.origin for path in demo] == [WITH_PACK] * 15
