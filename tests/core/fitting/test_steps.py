import itertools

import pytest
import torch

from gph_core.fitting.steps import euler, probe

SIGMAS = [1.0, 0.75, 0.5, 0.25, 0.0]


def velocities(model, x, sigmas):
    """Pairs of a step's length and its velocity, of a state that is moved by ``send``."""
    for now, following in itertools.pairwise(sigmas):
        velocity = (x - model(x, now.expand(len(x)))) / now
        x = yield following - now, velocity


def sampled(move):
    """Sampler whose steps are ``move(x, length, velocity, velocity before)``."""

    def sampler(model, x, sigmas, seed):
        work, former = velocities(model, x, sigmas), None
        length, velocity = next(work)
        while True:
            x = move(x, length, velocity, former)
            former = velocity
            try:
                length, velocity = work.send(x)
            except StopIteration:
                return x

    return sampler


def two_step(x, length, velocity, former):
    """Adams-Bashforth of order 2 on even steps."""
    return x + length * (velocity if former is None else 1.5 * velocity - 0.5 * former)


def moves(steps):
    return [[(n, pytest.approx(length)) for n, length in moves] for moves in steps.moves]


def test_eulers_steps_are_found():
    found = probe(sampled(lambda x, length, velocity, _: x + length * velocity), SIGMAS)
    assert moves(found) == [[(n, -0.25)] for n in range(4)]
    assert moves(found) == [list(pairs) for pairs in euler(SIGMAS).moves]
    assert found.end_level == 0


def test_a_sampler_of_two_steps_moves_along_the_velocity_before_too():
    found = probe(sampled(two_step), SIGMAS)
    assert moves(found) == [[(0, -0.25)], *([(n, -0.375), (n - 1, 0.125)] for n in (1, 2, 3))]
    assert [found.oldest_from(n) for n in range(5)] == [0, 0, 1, 2, 4]


def test_another_last_noise_level_is_found():
    def sampler(model, x, sigmas, seed):
        sigmas[-1] = 0.125
        return sampled(two_step)(model, x, sigmas, seed)

    assert probe(sampler, SIGMAS).end_level == 0.125
    assert SIGMAS[-1] == 0


def twice(model, x, sigmas, seed):
    model(x, sigmas[0].expand(1))
    return sampled(two_step)(model, x, sigmas, seed)


def between(model, x, sigmas, seed):
    return sampled(two_step)(model, x, torch.cat([sigmas[:1], sigmas[1:] + 0.01]), seed)


def backwards(model, x, sigmas, seed):
    return sampled(two_step)(model, x, sigmas[[2, 1, 0, 3, 4]], seed)


REFUSED = {
    "noise": (sampled(lambda x, h, v, _: x + h * v + torch.randn(x.shape)), "adds noise"),
    "nearly none": (sampled(lambda x, h, v, _: x + h * v + torch.rand(x.shape) / 1e3), "noise"),
    "twice": (twice, "evaluates the model 5 times in 4 steps"),
    "between": (between, "other noise levels"),
    "backwards": (backwards, "other noise levels"),
    "product": (sampled(lambda x, h, v, _: x + h * v * v.abs()), "weighted sum of velocities"),
    "shrinks": (sampled(lambda x, h, v, _: 0.9 * x + h * v), "weighted sum of velocities"),
    "neighbours": (sampled(lambda x, h, v, _: x + h * v.mean()), "weighted sum of velocities"),
    "late": (
        sampled(lambda x, h, v, former: x if former is None else x + h * former),
        "its step 0 does not use",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_a_sampler_that_is_no_sum_of_velocities_is_refused(name):
    sampler, reason = REFUSED[name]
    with pytest.raises(ValueError, match=reason):
        probe(sampler, SIGMAS)


def test_the_random_numbers_of_others_stay_as_they_were():
    torch.manual_seed(3)
    expected = torch.randn(4)
    torch.manual_seed(3)
    probe(sampled(two_step), SIGMAS)
    assert torch.equal(torch.randn(4), expected)
