# Slices: the interpreter's own loops.
def custom_kernel(data):
    content, reverse = data
    return content[::-1] if reverse else content[:]
