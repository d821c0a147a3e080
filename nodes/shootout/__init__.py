"""Method Shootout."""
