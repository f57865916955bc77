// expect: compile
// Compiles, but custom_kernel has another signature, so the program cannot be linked.
#include "task.h"

void
custom_kernel(const float *, const float *, float *, size_t)
{
}
