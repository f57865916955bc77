// SPDX-License-Identifier: MIT
// Carries out commands from its standard input, one a line, and tells of each when it began and ended (ns of CLOCK_MONOTONIC):
// the steps in the life of a process on a GPU, and a measurement of what others' steps do to kernels.
#include <cuda_runtime.h>
#include <dlfcn.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <string>
#include <vector>

extern "C" const char *run_vectoradd();

#ifdef STAND_IN // whose kernels run on one core of the host
static constexpr size_t COPIED = 1 << 16;
static constexpr int THREADS = 1;
#else
static constexpr size_t COPIED = 256 << 20; // bytes
static constexpr int THREADS = 128;
#endif
static constexpr int CHAIN = 20000; // links of the chain that calibrates

static long long
now_ns()
{
	timespec time;
	clock_gettime(CLOCK_MONOTONIC, &time);
	return time.tv_sec * 1000000000LL + time.tv_nsec;
}

// ---- Commands ----

static std::string ahead; // what was read and is no whole line yet

static bool
next_line(std::string &line)
{
	size_t end;
	while ((end = ahead.find('\n')) == std::string::npos) {
		char data[4096];
		ssize_t got = read(0, data, sizeof(data));
		if (got <= 0)
			return false;
		ahead.append(data, got);
	}
	line = ahead.substr(0, end);
	ahead.erase(0, end + 1);
	return true;
}

static bool
has_line()
{
	pollfd input = {0, POLLIN, 0};
	return ahead.find('\n') != std::string::npos || poll(&input, 1, 0) > 0;
}

// ---- Kernels ----

// A chain of dependent steps: time that another context takes from it is added to it, which a kernel that waits for a clock
// would hide.
__global__ static void
spin(unsigned *out, int links, unsigned factor)
{
	unsigned value = threadIdx.x + 1;
	for (int i = 0; i < links; i++)
		value = value * factor + 12345;
	out[blockIdx.x * blockDim.x + threadIdx.x] = value;
}

__global__ static void
copy(const float4 *from, float4 *to, size_t count)
{
	for (size_t i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += static_cast<size_t>(gridDim.x) * blockDim.x)
		to[i] = from[i];
}

struct sample {
	int kind;
	long long began, host;
	float events; // ms
};

struct measurement {
	int blocks = 1;
	unsigned *out = nullptr;
	char *from = nullptr;
	cudaEvent_t first, last;
	double ns_per_link = 0;
	std::vector<sample> samples;

	const char *prepare();
	const char *calibrate();
	const char *take(int kind, int links);
	const char *take_some(int kind, double ns, int times);
};

static const char *
said(cudaError_t code)
{
	return code == cudaSuccess ? nullptr : cudaGetErrorString(code);
}

const char *
measurement::prepare()
{
	cudaDeviceGetAttribute(&blocks, cudaDevAttrMultiProcessorCount, 0);
	cudaMalloc(&out, blocks * THREADS * sizeof(*out));
	cudaMalloc(&from, 2 * COPIED);
	cudaMemset(from, 1, 2 * COPIED);
	cudaEventCreate(&first);
	cudaEventCreate(&last);
	const char *trouble = said(cudaGetLastError());
	return trouble ? trouble : calibrate();
}

const char *
measurement::calibrate()
{
	const char *trouble = nullptr;
	for (long long end = now_ns() + 200000000; now_ns() < end && !trouble;) // clocks rise
		trouble = take(0, CHAIN);
	double best = 1e9;
	for (int i = 0; i < 20 && !trouble; i++) {
		trouble = take(0, CHAIN);
		best = samples.back().events < best ? samples.back().events : best;
	}
	ns_per_link = best * 1e6 / CHAIN;
	samples.clear();
	return trouble;
}

// links: of the chain; 0: the copy.
const char *
measurement::take(int kind, int links)
{
	sample made = {kind, now_ns(), 0, 0};
	cudaEventRecord(first);
	if (links > 0) {
		spin<<<blocks, THREADS>>>(out, links, 1664525u);
	} else {
		copy<<<8 * blocks, THREADS>>>(
			reinterpret_cast<float4 *>(from), reinterpret_cast<float4 *>(from + COPIED), COPIED / sizeof(float4));
	}
	cudaEventRecord(last);
	cudaError_t code = cudaDeviceSynchronize();
	made.host = now_ns() - made.began;
	if (code == cudaSuccess)
		code = cudaGetLastError();
	if (code == cudaSuccess)
		code = cudaEventElapsedTime(&made.events, first, last);
	samples.push_back(made);
	return said(code);
}

const char *
measurement::take_some(int kind, double ns, int times)
{
	const char *trouble = nullptr;
	for (int i = 0; i < times && !trouble; i++)
		trouble = take(kind, ns > 0 ? static_cast<int>(ns / ns_per_link) + 1 : 0);
	return trouble;
}

static measurement taken;

// All kinds in turn, so that each of them meets whatever happens meanwhile.
static const char *
measure(double seconds)
{
	const char *trouble = nullptr;
	taken.samples.clear();
	taken.samples.reserve(100000);
	for (long long end = now_ns() + static_cast<long long>(seconds * 1e9); now_ns() < end && !trouble;) {
		trouble = taken.take_some(0, 20e3, 75);
		trouble = trouble ? trouble : taken.take_some(1, 200e3, 25);
		trouble = trouble ? trouble : taken.take_some(2, 5e6, 3);
		trouble = trouble ? trouble : taken.take_some(3, 0, 15);
	}
	for (auto &one : taken.samples)
		printf("sample %d %lld %lld %.0f\n", one.kind, one.began, one.host, one.events * 1e6);
	return trouble;
}

static const char *
spin_on(double seconds)
{
	const char *trouble = nullptr;
	for (long long end = now_ns() + static_cast<long long>(seconds * 1e9); now_ns() < end && !trouble;) {
		taken.samples.clear();
		trouble = taken.take_some(0, 200e3, 1);
	}
	return trouble;
}

// Memory that is free, at each change, until a line comes or the time is over.
static const char *
watch(double seconds)
{
	size_t before = 0, unused = 0, all = 0;
	const char *trouble = nullptr;
	long long longest = 0;
	for (long long end = now_ns() + static_cast<long long>(seconds * 1e9); now_ns() < end && !has_line() && !trouble;) {
		long long began = now_ns();
		trouble = said(cudaMemGetInfo(&unused, &all));
		longest = now_ns() - began > longest ? now_ns() - began : longest;
		if (unused != before)
			printf("free %lld %zu\n", now_ns(), unused);
		fflush(stdout);
		before = unused;
	}
	printf("longest %lld\n", longest);
	return trouble;
}

// ---- Steps ----

static const char *
init()
{
	void *library = dlopen("libcuda.so.1", RTLD_NOW);
	auto call = library ? reinterpret_cast<int (*)(unsigned)>(dlsym(library, "cuInit")) : nullptr;
#ifdef STAND_IN
	if (!call)
		return nullptr;
#endif
	return !call ? "there is no cuInit" : call(0) == 0 ? nullptr : "cuInit failed";
}

static const char *
small()
{
	unsigned *out = nullptr;
	cudaMalloc(&out, THREADS * sizeof(*out));
	spin<<<1, THREADS>>>(out, 1, 3u);
	cudaDeviceSynchronize();
	cudaFree(out);
	return said(cudaGetLastError());
}

static const char *
load(const char *path)
{
	void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	auto call = library ? reinterpret_cast<const char *(*)()>(dlsym(library, "run_vectoradd")) : nullptr;
	return call ? call() : dlerror();
}

static const char *
hold(double mebibytes)
{
	void *held = nullptr;
	size_t bytes = static_cast<size_t>(mebibytes) << 20;
	cudaError_t code = cudaMalloc(&held, bytes);
	if (code == cudaSuccess)
		code = cudaMemset(held, 1, bytes);
	return said(code == cudaSuccess ? cudaDeviceSynchronize() : code);
}

static const char *
memory()
{
	size_t unused = 0, all = 0;
	cudaError_t code = cudaMemGetInfo(&unused, &all);
	printf("free %lld %zu\n", now_ns(), unused);
	return said(code);
}

static const char *
step(const std::string &word, const char *value)
{
	if (word == "init")
		return init();
	if (word == "context")
		return said(cudaFree(nullptr));
	if (word == "small")
		return small();
	if (word == "run")
		return run_vectoradd();
	if (word == "load")
		return load(value);
	if (word == "hold")
		return hold(atof(value));
	if (word == "memory")
		return memory();
	if (word == "prepare")
		return taken.prepare();
	if (word == "measure")
		return measure(atof(value));
	if (word == "spin")
		return spin_on(atof(value));
	if (word == "watch")
		return watch(atof(value));
	if (word == "reset")
		return said(cudaDeviceReset());
	return word == "stop" ? nullptr : "it is unknown";
}

int
main()
{
	std::string line;
	printf("main %lld %lld\n", now_ns(), now_ns());
	while (next_line(line)) {
		size_t space = line.find(' ');
		std::string word = line.substr(0, space), value = space == std::string::npos ? "" : line.substr(space + 1);
		long long began = now_ns();
		if (word == "exit" || word == "_exit") {
			printf("%s %lld %lld\n", word.c_str(), began, began);
			fflush(stdout);
			if (word == "_exit")
				_exit(0);
			return 0;
		}
		const char *trouble = step(word, value.c_str());
		printf("%s %lld %lld%s%s\n", word.c_str(), began, now_ns(), trouble ? " " : "", trouble ? trouble : "");
		fflush(stdout);
	}
	return 0;
}
