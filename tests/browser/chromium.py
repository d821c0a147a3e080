"""Find a Chromium, or bring one: python -m tests.browser.chromium"""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
import sys

NAMES = (
    "chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome", "msedge",
    "microsoft-edge",
)  # fmt: skip
PLACES = (
    "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
    "/Applications/Chromium.app/Contents/MacOS/Chromium",
    "/Applications/Microsoft Edge.app/Contents/MacOS/Microsoft Edge",
    "${PROGRAMFILES}/Google/Chrome/Application/chrome.exe",
    "${PROGRAMFILES(X86)}/Google/Chrome/Application/chrome.exe",
    "${LOCALAPPDATA}/Google/Chrome/Application/chrome.exe",
    "${PROGRAMFILES(X86)}/Microsoft/Edge/Application/msedge.exe",
)
REMEDY = (
    "install Chromium, Chrome or Edge, or name one in the variable CHROMIUM, "
    "then call this again: python dev.py test"
)


def find() -> str | None:
    """The path of a browser: the one named in CHROMIUM, an installed one, Playwright's own."""
    named = os.environ.get("CHROMIUM")
    if named:
        if found := shutil.which(named):
            return found
        sys.exit(f"CHROMIUM names {named}, which is no program")
    places = [os.path.expandvars(place) for place in PLACES]
    found = (shutil.which(program) for program in (*NAMES, *places))
    return next(filter(None, found), None) or _playwrights_own()


def _playwrights_own() -> str | None:
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        return shutil.which(playwright.chromium.executable_path)


def install() -> None:
    """Try what can install one on this machine."""
    linux_root = sys.platform == "linux" and os.geteuid() == 0
    # Ubuntu's chromium is only a pointer to a snap, which no container can run.
    if linux_root and platform.freedesktop_os_release().get("ID") == "debian":
        _call("apt-get", "update", "-q")
        _call("apt-get", "install", "-q", "-y", "--no-install-recommends", "chromium")
    else:
        dependencies = ["--with-deps"] if linux_root else []
        _call(sys.executable, "-m", "playwright", "install", *dependencies, "chromium")


def _call(*command: str) -> None:
    print(f"==> {subprocess.list2cmdline(command)}", flush=True)
    environment = os.environ | {"DEBIAN_FRONTEND": "noninteractive"}
    subprocess.run(command, env=environment, check=False)  # what counts is whether one is there


def is_ci() -> bool:
    """On a build machine a missing browser is an error: nobody would read the message."""
    return os.environ.get("CI", "").lower() not in ("", "0", "false")


def main() -> int:
    if find() is None:
        install()
    found = find()
    print(f"browser: {found or f'none; {REMEDY}'}", flush=True)
    return 1 if found is None and is_ci() else 0


if __name__ == "__main__":
    sys.exit(main())
