"""Jobs at once."""

import threading


def together(*jobs):
    """Results of jobs that begin at once in threads of their own; an error in place of one."""
    barrier = threading.Barrier(len(jobs))
    found = [None] * len(jobs)

    def work(place):
        barrier.wait()
        try:
            found[place] = jobs[place]()
        except Exception as error:
            found[place] = error

    threads = [threading.Thread(target=work, args=(place,)) for place in range(len(jobs))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
        assert not thread.is_alive()
    return found


def modules(model):
    return list(model.model.diffusion_model.named_modules())


def assert_same_modules(model, before):
    after = modules(model)
    assert [name for name, _ in after] == [name for name, _ in before]
    assert all(a is b for (_, a), (_, b) in zip(after, before, strict=True))
