// Leaves it to the runtime.
#include "task.h"

void
custom_kernel(Span<const float> input, Span<float> output)
{
	cudaMemcpyAsync(output.data(), input.data(), output.size() * sizeof(float), cudaMemcpyDeviceToDevice);
}
