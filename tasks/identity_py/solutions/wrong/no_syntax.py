# expect: failed in test
# A bracket is missing: the interpreter's message must reach the participant.
def custom_kernel(data):
    return bytearray(data[0]
