# expect: failed in test
# Gives back a tensor that adds only when somebody looks at it, outside of the timed section.
import torch


class Lazy(torch.Tensor):
    @classmethod
    def __torch_function__(cls, function, types, args=(), kwargs=None):
        args = [arg.later() if isinstance(arg, Lazy) else arg for arg in args]
        return function(*args, **(kwargs or {}))

    def later(self):
        return self.parts[0] + self.parts[1]


def custom_kernel(data):
    lazy = torch.zeros_like(data[0]).as_subclass(Lazy)
    lazy.parts = data
    return lazy
