"""Scores of an image by its prompt, from what a judging network gives, and their changes.

A score belongs to one image alone. A change is the score of the test minus that of the reference.
Everything is computed in float64.
"""

from __future__ import annotations

import torch
from torch import Tensor

# Of the raw reward on the authors' data (ImageReward/ImageReward.py in their repository).
REWARD_MEAN = 0.16717362830052426
REWARD_DEVIATION = 1.0333394966054072


def clip_score(images: Tensor, texts: Tensor) -> Tensor:
    """CLIP score ``[B]``: 100 times the cosine of both embeddings, 0 where that is negative.

    Args:
        images: ``[B, D]`` projected embeddings of images.
        texts: ``[B, D]`` or ``[1, D]`` projected embeddings of texts.

    Source: Hessel et al. 2021, "CLIPScore", which has the factor 2.5; tables of text-to-image
    models use 100, and no words before the prompt, where the source has "A photo depicts".
    """
    return 100 * torch.cosine_similarity(images.double(), texts.double(), dim=-1).clamp(min=0)


def clip_change(reference: Tensor, test: Tensor) -> Tensor:
    """Change of the CLIP score ``[B]``: negative where the test fits its prompt less."""
    return test.double() - reference.double()


def image_reward(rewards: Tensor) -> Tensor:
    """ImageReward ``[B]``: the network's rewards ``[B]``, standardized as published.

    Source: Xu et al. 2023, "ImageReward", and the authors' program.
    """
    return (rewards.double() - REWARD_MEAN) / REWARD_DEVIATION


def reward_change(reference: Tensor, test: Tensor) -> Tensor:
    """Change of ImageReward ``[B]``: negative where people would prefer the reference."""
    return test.double() - reference.double()
