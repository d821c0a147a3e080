"""Examples whose scores are made by a function, for the tests of the searches."""

from gph_core.search.study import Measurement


class MadeExamples:
    """Examples with ``value(schedule, example)`` as their PSNR; keeps what was measured."""

    def __init__(self, value, count=4):
        self.value, self.count = value, count
        self.measured = []  # (schedule, examples)

    def __len__(self):
        return self.count

    def begin(self):
        """Nothing is to be done."""

    def forget(self):
        """Nothing is kept."""

    def measure(self, schedule, examples):
        self.measured.append((schedule, tuple(examples)))
        return Measurement(
            [{"psnr": self.value(schedule, example)} for example in examples],
            schedule.num_full * len(examples),
        )
