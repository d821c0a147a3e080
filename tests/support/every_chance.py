"""The exact distribution of a random draw, by playing all that chance can do."""

import itertools
from collections import Counter
from fractions import Fraction


class _Chance:
    """Stands in for ``random.Random`` and takes the turns of a script, then always the first."""

    def __init__(self, script):
        self.script, self.taken = script, ()
        self.probability = Fraction(1)
        self.untried = []

    def choice(self, items):
        turn = len(self.taken)
        if turn < len(self.script):
            picked = self.script[turn]
        else:
            picked = 0
            self.untried += [(*self.taken, other) for other in range(1, len(items))]
        self.taken += (picked,)
        self.probability /= len(items)
        return items[picked]

    def random(self):
        """Right for comparisons with tenths."""
        return self.choice([(n + 0.5) / 10 for n in range(10)])

    def sample(self, items, k):
        return self.choice(list(itertools.permutations(items, k)))


def distribution(draw):
    """The probability of each result of ``draw(rng)``."""
    found = Counter()
    scripts = [()]
    while scripts:
        chance = _Chance(scripts.pop())
        found[draw(chance)] += chance.probability
        scripts += chance.untried
    assert sum(found.values()) == 1
    return dict(found)
