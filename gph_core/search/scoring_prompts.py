"""Prompts and seeds of scoring examples: those of the GPH paper, and those in a text."""

from __future__ import annotations

# Source: GPH paper, appendix *Schedule Search*. Six are captions of COCO 2014 (CC BY 4.0) or a
# fixed template, two prompts of DiffusionDB (CC0).
PROMPTS = (
    "Two giraffes in a room with people looking at them.",
    "A dog sleeping on a show rack in the shoes.",
    "a faucet running next to a dinosuar holding a toothbrush",
    "A traffic light over a street surrounded by tall buildings.",
    "illustration of a coffee, an art deco painting by tom whalen, trending on behance, "
    "art deco, digital illustration, storybook illustration, grainy texture, flat "
    "shading, vector art, airbrush, pastel, watercolor, poster",
    "Super Powered Karl Urban as an Apex Legends character digital illustration portrait "
    "design by, Mark Brooks and Brad Kunkle detailed, gorgeous lighting, wide angle "
    "action dynamic portrait",
    "Three people riding horses and mules over rocks",
    "a storefront with the word 'gleam' written on the sign",
)
SEEDS = (50042, 50042, 50042, 50042, 60042, 60042, 60042, 60042)


MAX_SEED = 2**64 - 1


def parse_prompts(text: str) -> list[str]:
    """Non-empty lines of a text; ``ValueError`` if there are none."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    if not lines:
        raise ValueError("there is no prompt; write one per line")
    return lines


def parse_seeds(text: str) -> list[int]:
    """Whole numbers from 0 to 2^64 - 1 between commas or spaces."""
    words = text.replace(",", " ").split()
    for word in words:
        if not (word.isascii() and word.isdigit()) or int(word) > MAX_SEED:
            raise ValueError(
                f"{word!r} is not a seed; write whole numbers with commas between them"
            )
    if not words:
        raise ValueError("there is no seed; write one for all prompts, or one for each")
    return [int(word) for word in words]


def seeds_for(seeds: list[int], prompts: list[str]) -> list[int]:
    """Seed for each prompt."""
    if len(seeds) not in (1, len(prompts)):
        raise ValueError(
            f"there are {len(seeds)} seeds for {len(prompts)} prompts; write one for all, or one "
            "for each"
        )
    return seeds * len(prompts) if len(seeds) == 1 else seeds
