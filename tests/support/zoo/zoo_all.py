"""The whole zoo, by the names of its cases."""

from . import zoo_images, zoo_pixels, zoo_sounds, zoo_videos

CASES = {
    case.name: case
    for case in (*zoo_images.CASES, *zoo_pixels.CASES, *zoo_videos.CASES, *zoo_sounds.CASES)
}

# Upstream: ACE-Step 1.5 gives the timbre of all items of a batch to the first one.
BATCH_OF_ONE = zoo_videos.BATCH_OF_ONE | {
    case.name for case in zoo_sounds.CASES if case.family == "ACE-Step 1.5"
}

# The first use of each family, for what depends on the classes of a model alone.
FAMILIES = {case.family: case for case in reversed(CASES.values())}
