# SPDX-License-Identifier: MIT
# class: Result channel: leaving early; raising in odd places
# tries: to be a custom_kernel that is no function, or that leaves in another way than functions do.
# expect: failed
# variants: HOW=0 HOW=1 HOW=2 HOW=3 HOW=4 HOW=5 HOW=6 HOW=7
import signal
import sys

from attack import honest, tried

tried()


class Meta(type):
    def __call__(cls, *arguments):
        raise SystemExit(0)


class Kernel(metaclass=Meta):
    pass


class Raises:
    def __call__(self, data):
        raise StopIteration(honest(data))

    def __getattribute__(self, name):
        raise KeyboardInterrupt


def generator(data):
    yield honest(data)


async def coroutine(data):
    return honest(data)


def by_signal(data):
    signal.signal(signal.SIGALRM, lambda *_: sys.exit(0))
    signal.setitimer(signal.ITIMER_REAL, 0.001, 0.001)
    return [0]


def by_audit(data):
    def hook(event, arguments):
        raise SystemExit(0)
    sys.addaudithook(hook)
    return [0]


def by_trace(data):
    def trace(*arguments):
        raise SystemExit(0)
    sys.setprofile(trace)
    return [0]


custom_kernel = (Kernel, Raises(), generator, coroutine, by_signal, by_audit, by_trace, None)[@HOW@]
