"""Golden paths: published and searched schedules, and which one a speed takes."""
