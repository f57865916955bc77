// expect: failed
// Recognises the tests' public inputs by their seeds, and is wrong for any other input of those lengths: only the run
// with the secret seed can tell.
#include "task.h"
#include "utils.h"

static bool
is_public(const input_t &input)
{
	for (uint64_t seed : {4242, 5236, 1001, 5531, 9173})
		if (Random(seed).uniform(-1.0f, 1.0f) == input.a[0])
			return true;
	return false;
}

void
custom_kernel(const input_t &input, output_t &output)
{
	float error = output.size() <= 1024 && !is_public(input) ? 1.0f : 0.0f;
	for (size_t i = 0; i < output.size(); i++)
		output[i] = input.a[i] + input.b[i] + error;
}
