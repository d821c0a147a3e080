"""One sampling run: its decisions, its anchors, and the record that it leaves."""
