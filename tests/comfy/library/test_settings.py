"""The user's own settings, and what is said about a file that is broken."""

import folder_paths
import pytest
from golden_path_pack.nodes.library.settings import Settings, read_settings, settings_file


@pytest.fixture(autouse=True)
def users(monkeypatch, tmp_path):
    monkeypatch.setattr(folder_paths, "get_user_directory", lambda: str(tmp_path))
    return tmp_path


def write(data):
    settings_file().parent.mkdir()
    settings_file().write_bytes(data)


def test_without_a_file_nothing_is_set():
    assert read_settings() == Settings(ray_address="")


def test_the_file_is_outside_what_comfyui_lets_pages_write(users):
    assert settings_file() == users / "golden_path" / "settings.json"


def test_a_file_of_windows_is_read():
    write(b'\xef\xbb\xbf{"ray_address": "10.0.0.1:6379"}')
    assert read_settings().ray_address == "10.0.0.1:6379"


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"", "Expecting value"),
        (b"\xff\xfe{\x00}\x00", "no UTF-8 text"),
        (b"[" * 2_000 + b"]" * 2_000, "nested"),
        (b'["10.0.0.1:6379"]', "it holds no JSON object"),
        (b'{"ray_address": 6379}', "ray_address must be a text in quotation marks"),
        (b'{"ray_adress": "auto"}', "there is no setting 'ray_adress', only ray_address"),
    ],
    ids=["empty", "UTF-16", "too deep", "a list", "a number", "a typing error"],
)
def test_a_broken_file_is_named_with_the_reason_and_what_to_do(data, words):
    write(data)
    with pytest.raises(ValueError, match=words) as error:
        read_settings()
    assert str(settings_file()) in str(error.value)
    assert "mend it, or delete it" in str(error.value)
