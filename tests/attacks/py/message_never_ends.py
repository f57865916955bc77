# SPDX-License-Identifier: MIT
# class: Service: a message that never ends
# tries: to raise an error whose text, class and traceback never end.
# expect: timed_out
# variants: WHERE=__str__ WHERE=__repr__ WHERE=__class__ WHERE=__traceback__ WHERE=__cause__
import time

from attack import tried


def never(self, *arguments):
    if arguments != ("__dict__",):
        while True:
            time.sleep(1)


class Hangs(Exception):
    if "@WHERE@" == "__str__":
        __str__ = never
    else:
        __str__ = __repr__ = never
    if "@WHERE@" not in ("__str__", "__repr__"):
        locals()["@WHERE@"] = property(never)


def custom_kernel(data):
    tried()
    raise Hangs("never")
