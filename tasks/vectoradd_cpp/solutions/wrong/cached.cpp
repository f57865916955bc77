// expect: failed
// Keeps its results and gives them out again for inputs of the same address and length: passes the tests, not the
// benchmarks, in which every call has other values.
#include "task.h"

#include <map>
#include <tuple>

void
custom_kernel(const input_t &input, output_t &output)
{
	static std::map<std::tuple<const float *, size_t>, output_t> kept;
	output_t &result = kept[{input.a.data(), input.a.size()}];
	if (result.empty()) {
		result.resize(output.size());
		for (size_t i = 0; i < output.size(); i++)
			result[i] = input.a[i] + input.b[i];
	}
	output = result;
}
