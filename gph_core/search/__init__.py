"""Searching for the schedule whose images come closest to those of the full model.

``proposals`` is what a search and a study say to each other. ``study`` answers within a ``budget``,
``log`` is its memory, ``judge`` scores schedules and drops hopeless ones early. ``selection``
chooses among those scored, ``protocol`` ties a search together. ``algorithms`` holds the searches.
"""
