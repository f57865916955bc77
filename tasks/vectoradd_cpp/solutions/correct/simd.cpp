// Eight floats at a time by the compiler's vector extension, then the tail.
#include "task.h"

#include <string.h>

typedef float floats __attribute__((vector_size(32)));

void
custom_kernel(const input_t &input, output_t &output)
{
	constexpr size_t width = sizeof(floats) / sizeof(float);
	const float *a = input.a.data(), *b = input.b.data();
	float *out = output.data();
	size_t i = 0, size = output.size();
	for (; i + width <= size; i += width) {
		floats x, y;
		memcpy(&x, a + i, sizeof(x));
		memcpy(&y, b + i, sizeof(y));
		x += y;
		memcpy(out + i, &x, sizeof(x));
	}
	for (; i < size; i++)
		out[i] = a[i] + b[i];
}
