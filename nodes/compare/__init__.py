"""Quality Compare and Compare Run."""
