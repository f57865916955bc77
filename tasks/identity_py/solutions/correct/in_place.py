# expect: passed in benchmark
# Turns its input around and gives that back: the inputs are the submission's to use.
def custom_kernel(data):
    content, reverse = data
    if reverse:
        content.reverse()
    return content
