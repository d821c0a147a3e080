"""Searches that several tests share."""

import functools

from golden_path_pack.nodes.library import user_paths


def once(search):
    """Function that searches the first time alone; the path is in each test's library."""

    @functools.cache
    def first():
        return search(), user_paths.read()

    def searched():
        result, paths = first()
        for path in paths:
            user_paths.library().save(path, overwrite=True)
        return result

    return searched
