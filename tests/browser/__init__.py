"""Tests of the page in a real browser. A package, so that pytest ends server and browser here."""
