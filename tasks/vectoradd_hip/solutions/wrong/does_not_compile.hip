// expect: compile
// A missing semicolon: the compiler's message must reach the participant.
#include "task.h"

void
custom_kernel(Span<const float> a, Span<const float>, Span<float> sum)
{
	hipMemcpy(sum.data(), a.data(), sum.size() * sizeof(float), hipMemcpyDeviceToDevice)
}
