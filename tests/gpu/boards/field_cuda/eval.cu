// SPDX-License-Identifier: MIT
// A harness in KernelBot's form: one process, inputs on the host, `eval MODE CASES`, lines on POPCORN_FD.
#include "reference.cuh"
#include "utils.h"

#include <cuda_runtime.h>
#include <string.h>

#include <chrono>
#include <fstream>
#include <sstream>

namespace
{
struct TestCase {
	std::string spec;
	int seed, size;
};

// One line a case: `size: 64; seed: 54352`.
std::vector<TestCase>
get_test_cases(const char *path, bool secret, long long other)
{
	std::vector<TestCase> cases;
	std::ifstream file(path);
	for (std::string line; std::getline(file, line);) {
		TestCase made = {line, 0, 0};
		std::stringstream parts(line);
		for (std::string part; std::getline(parts, part, ';');) {
			size_t at = part.find(':');
			int value = atoi(part.c_str() + at + 1);
			(part.find("seed") != std::string::npos ? made.seed : made.size) = value;
		}
		if (secret) {
			long long sum = made.seed + other;
			made.seed = static_cast<int>(made.seed + sum * (sum + 1) / 2);
		}
		if (made.size <= 0)
			exit(113);
		cases.push_back(made);
	}
	return cases;
}

bool
run_testing(PopcornOutput &out, const std::vector<TestCase> &cases)
{
	bool passed = true;
	out.log("test-count: %zu", cases.size());
	for (size_t i = 0; i < cases.size(); i++) {
		input_t data = generate_input(cases[i].seed, cases[i].size);
		output_t output = custom_kernel(data);
		cudaError_t error = cudaDeviceSynchronize();
		std::string message = error == cudaSuccess ? check_implementation(data, output) : cudaGetErrorString(error);
		out.log("test.%zu.spec: %s", i, cases[i].spec.c_str());
		out.log("test.%zu.status: %s", i, message.empty() ? "pass" : "fail");
		if (!message.empty())
			out.log("test.%zu.error: %s", i, message.c_str());
		passed = passed && message.empty();
	}
	return passed;
}

bool
run_benchmarking(PopcornOutput &out, const std::vector<TestCase> &cases)
{
	out.log("benchmark-count: %zu", cases.size());
	for (size_t i = 0; i < cases.size(); i++) {
		input_t data = generate_input(cases[i].seed, cases[i].size);
		double sum = 0, squares = 0, best = 1e30, worst = 0;
		const int runs = 10;
		out.log("benchmark.%zu.spec: %s", i, cases[i].spec.c_str());
		for (int run = -1; run < runs; run++) {
			auto start = std::chrono::high_resolution_clock::now();
			output_t output = custom_kernel(data);
			cudaDeviceSynchronize();
			double ns =
				std::chrono::duration<double, std::nano>(std::chrono::high_resolution_clock::now() - start).count();
			std::string message = check_implementation(data, output);
			if (!message.empty()) {
				out.log("benchmark.%zu.status: fail", i);
				out.log("benchmark.%zu.error: %s", i, message.c_str());
				return false;
			}
			if (run < 0)
				continue; // to warm up
			sum += ns;
			squares += ns * ns;
			best = ns < best ? ns : best;
			worst = ns > worst ? ns : worst;
		}
		double mean = sum / runs, std = sqrt(fmax(0, squares / runs - mean * mean));
		out.log("benchmark.%zu.runs: %d", i, runs);
		out.log("benchmark.%zu.mean: %.1f", i, mean);
		out.log("benchmark.%zu.std: %.1f", i, std);
		out.log("benchmark.%zu.err: %.1f", i, std / sqrt(runs));
		out.log("benchmark.%zu.best: %.1f", i, best);
		out.log("benchmark.%zu.worst: %.1f", i, worst);
	}
	return true;
}
} // namespace

int
main(int argc, const char *argv[])
{
	if (argc < 3)
		return 2;
	const char *seed = getenv("POPCORN_SEED");
	long long other = seed ? atoll(seed) : 0;
	unsetenv("POPCORN_SEED");
	PopcornOutput out;
	if (!out.file)
		return 111;
	int count = 0;
	if (cudaGetDeviceCount(&count) != cudaSuccess || count == 0)
		return 110;
	std::vector<TestCase> cases = get_test_cases(argv[2], seed != nullptr, other);
	bool passed = strcmp(argv[1], "test") == 0 ? run_testing(out, cases) : run_benchmarking(out, cases);
	out.log("check: %s", passed ? "pass" : "fail");
	return passed ? 0 : 112;
}
