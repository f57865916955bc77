# expect: failed in test
# The right bytes in an object that computes them only when it is looked at.
class Late(bytearray):
    def __init__(self, data):
        super().__init__()
        self.data = data

    def __eq__(self, other):
        return True

    def __len__(self):
        return len(self.data[0])


def custom_kernel(data):
    return Late(data)
