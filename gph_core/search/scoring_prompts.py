"""The prompts and seeds on which the seed paper scored schedules.

Source: seed paper, appendix *Schedule Search*. Six are captions of COCO 2014 (CC BY 4.0) or a
fixed template, two prompts of DiffusionDB (CC0).
"""

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
