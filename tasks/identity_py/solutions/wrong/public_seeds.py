# expect: failed in ranked
# Recognises the public inputs of the smallest reversed test, and is wrong for any other: only the run with the secret
# seed can tell.
import random


def custom_kernel(data):
    content, reverse = data
    public = content == random.Random(5531).randbytes(1024)
    if len(content) == 1024 and not public:
        return content[:]
    return content[::-1] if reverse else content[:]
