"""The contract of all readers and writers of files: see ``support/damages.py``."""

import contextlib
import sys

import pytest

from ...support.damages import faults
from ...support.readers import OF_OTHERS, OTHER_FORMS, READERS

ALL = READERS | OTHER_FORMS


@pytest.mark.parametrize("name", ALL)
def test_a_damaged_file_is_refused_by_its_name_or_read_as_it_was(tmp_path, name):
    assert faults(ALL[name], tmp_path) == {}


@contextlib.contextmanager
def room_for(num_bytes):
    """No file may grow beyond a size, as on a full disk: the system refuses what is too much."""
    import resource

    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (num_bytes, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


@pytest.mark.skipif(sys.platform == "win32", reason="has no limit of files' sizes")
@pytest.mark.parametrize("name", [name for name in READERS if name not in OF_OTHERS])
def test_a_full_disk_names_the_file_which_can_be_written_later(tmp_path, name):
    reader = READERS[name]
    reader.write(tmp_path / reader.name)
    for num_bytes in (0, 50, 110, (tmp_path / reader.name).stat().st_size - 1):
        path = tmp_path / f"{num_bytes} {reader.name}"
        with room_for(num_bytes), pytest.raises(OSError, match=path.name):
            reader.write(path)
        assert not list(tmp_path.glob("*.tmp"))
        reader.write(path)
        assert reader.read(path)
