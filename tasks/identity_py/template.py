from task import input_t, output_t


def custom_kernel(data: input_t) -> output_t:
    content, reverse = data
    return bytearray(reversed(content)) if reverse else bytearray(content)
