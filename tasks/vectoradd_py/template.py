from task import input_t, output_t


def custom_kernel(data: input_t) -> output_t:
    first, second = data
    return first + second
