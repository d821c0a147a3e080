"""States of runs whose shape is known from geometry."""

import math

import torch


def circle(num_states, degrees):
    """States so many degrees apart on a circle of radius 1."""
    angle = torch.arange(num_states, dtype=torch.float64) * math.radians(degrees)
    return torch.stack([angle.cos(), angle.sin()], dim=1)


def rotated(points, num_coordinates):
    """The same shape in more dimensions."""
    return points.double() @ orthonormal(points.shape[1], num_coordinates)


def helix(tilt=0.0, num_coordinates=6):
    """A run along axis 0 that goes around once in the plane of axes 1 and 2.

    Args:
        tilt: by which axis 2 is turned toward axis 3, in degrees.
    """
    turns = torch.arange(9, dtype=torch.float64) * math.radians(45)
    states = torch.zeros(9, num_coordinates, dtype=torch.float64)
    states[:, 0] = torch.linspace(0, 4, 9)
    states[:, 1] = 1 - turns.cos()
    states[:, 2] = 0.5 * turns.sin() * math.cos(math.radians(tilt))
    states[:, 3] = 0.5 * turns.sin() * math.sin(math.radians(tilt))
    return states


def orthonormal(*shape, seed=0):
    random = torch.Generator().manual_seed(seed)
    return torch.linalg.qr(torch.randn(*shape, generator=random).double().mT).Q.mT
