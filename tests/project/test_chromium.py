"""Which browser the tests of the page take, and what happens without one."""

import os
import subprocess
import sys

import pytest

import dev

from ..browser import chromium


@pytest.fixture
def nothing_found(monkeypatch):
    """A machine without a browser that installs none; the attempts are counted."""
    attempts = []
    monkeypatch.setattr(chromium, "find", lambda: None)
    monkeypatch.setattr(chromium, "install", lambda: attempts.append(1))
    return attempts


def test_the_named_browser_is_taken(monkeypatch, tmp_path):
    browser = tmp_path / "browser.exe"
    browser.touch(mode=0o755)
    monkeypatch.setenv("CHROMIUM", str(browser))
    assert chromium.find() == str(browser)


def test_a_named_browser_that_is_not_there_is_an_error(monkeypatch):
    monkeypatch.setenv("CHROMIUM", "no-such-browser")
    with pytest.raises(SystemExit, match="CHROMIUM names no-such-browser, which is no program"):
        chromium.find()


def test_a_browser_on_the_path_is_found(monkeypatch, tmp_path):
    browser = tmp_path / ("msedge.exe" if os.name == "nt" else "msedge")
    browser.touch(mode=0o755)
    monkeypatch.delenv("CHROMIUM", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(chromium, "PLACES", ())
    assert chromium.find() == str(browser)


@pytest.mark.parametrize(("ci", "status"), [("", 0), ("false", 0), ("1", 1), ("true", 1)])
def test_a_missing_browser_is_an_error_on_a_build_machine_alone(
    monkeypatch, capsys, nothing_found, ci, status
):
    monkeypatch.setenv("CI", ci)
    assert chromium.main() == status
    assert nothing_found == [1]
    assert chromium.REMEDY in capsys.readouterr().out


@pytest.mark.parametrize(
    ("ci", "status", "said"),
    [
        pytest.param("", 5, "The tests of the page were left out: install", marks=pytest.mark.long),
        ("1", 4, "no browser: install"),
    ],
)
def test_without_a_browser_the_tests_of_the_page_are_left_out_or_fail(ci, status, said):
    code = "import shutil, sys, pytest; shutil.which = lambda *_, **__: None; "
    code += "sys.exit(pytest.main(['tests/browser', '-q']))"
    result = subprocess.run(
        [sys.executable, "-c", code], cwd=dev.ROOT, capture_output=True, encoding="utf-8",
        env=os.environ | {"CI": ci, "CHROMIUM": "", "COMFYUI_PATH": "anything"},
    )  # fmt: skip
    assert result.returncode == status, result.stdout + result.stderr
    assert said in result.stdout + result.stderr
