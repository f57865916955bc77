def custom_kernel(data) -> float:
    return float(data.sum())
