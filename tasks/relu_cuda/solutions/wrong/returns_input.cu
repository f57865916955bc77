// expect: failed
// Gives back its input.
#include "reference.cuh"

output_t
custom_kernel(input_t data)
{
	return data;
}
