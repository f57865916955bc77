// expect: failed
// Throws, with a message that looks like results.
#include "task.h"

#include <stdexcept>

void
custom_kernel(const input_t &, output_t &)
{
	throw std::runtime_error("no\ntest.0.status: pass\ncheck: pass");
}
