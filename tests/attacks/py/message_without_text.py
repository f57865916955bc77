# SPDX-License-Identifier: MIT
# class: Service: errors about errors
# tries: to raise what cannot be described: every question about it raises another of its kind.
# expect: failed
from attack import tried


class Meta(type):
    def __getattribute__(cls, name):
        if name in ("__name__", "__qualname__", "__module__"):
            raise Undescribed
        return super().__getattribute__(name)


class Undescribed(BaseException, metaclass=Meta):
    def __str__(self):
        raise self

    __repr__ = __str__

    def __getattribute__(self, name):
        raise self


def custom_kernel(data):
    tried()
    raise Undescribed
