// expect: compile
// Defines another function.
#include "reference.cuh"

output_t
kernel(input_t data)
{
	return data;
}
