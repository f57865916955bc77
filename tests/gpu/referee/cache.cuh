// SPDX-License-Identifier: MIT
// The part `cache`: is what the child reads cold after the parent has written. For pair.cu.
#pragma once

static const size_t BUFFER = 32 << 20, FLUSH = 256 << 20; // bytes; shared->bytes of the buffer are used
static const int LOADS = 256;                             // of a block's chain

// Each block follows a chain of loads of its own through the lines of the buffer, which holds zeros: clocks a load.
__global__ void
chase_kernel(const unsigned *words, unsigned lines, unsigned seed, unsigned *clocks)
{
	unsigned at = (blockIdx.x + 1) * 2654435761u + seed * 40503u;
	long long began = clock64();
	for (int i = 0; i < LOADS; i++) {
		unsigned value;
		asm volatile("ld.global.cg.u32 %0, [%1];"
					 : "=r"(value)
					 : "l"(words + size_t{(at >> 8) % lines} * 32)
					 : "memory");
		at = at * 1664525u + 1013904223u + value;
	}
	clocks[blockIdx.x] = static_cast<unsigned>(clock64() - began) + (at == 1 ? 1 : 0);
}

__global__ void
read_kernel(const uint4 *from, size_t count, unsigned *sink)
{
	unsigned sum = 0;
	for (size_t i = blockIdx.x * size_t{blockDim.x} + threadIdx.x; i < count; i += size_t{gridDim.x} * blockDim.x) {
		uint4 value;
		asm volatile("ld.global.cg.v4.u32 {%0, %1, %2, %3}, [%4];"
					 : "=r"(value.x), "=r"(value.y), "=r"(value.z), "=r"(value.w)
					 : "l"(from + i)
					 : "memory");
		sum += value.x ^ value.y ^ value.z ^ value.w;
	}
	if (sum == 12345)
		*sink = sum;
}

// As read_kernel, asking the cache to evict these lines last.
__global__ void
keep_kernel(const uint4 *from, size_t count, unsigned *sink)
{
	unsigned sum = 0;
	uint64_t policy;
	asm volatile("createpolicy.fractional.L2::evict_last.b64 %0, 1.0;" : "=l"(policy));
	for (size_t i = blockIdx.x * size_t{blockDim.x} + threadIdx.x; i < count; i += size_t{gridDim.x} * blockDim.x) {
		uint4 value;
		asm volatile("ld.global.L2::cache_hint.v4.u32 {%0, %1, %2, %3}, [%4], %5;"
					 : "=r"(value.x), "=r"(value.y), "=r"(value.z), "=r"(value.w)
					 : "l"(from + i), "l"(policy)
					 : "memory");
		sum += value.x ^ value.y ^ value.z ^ value.w;
	}
	if (sum == 12345)
		*sink = sum;
}

struct Reader {
	uint4 *buffer;
	void *other;
	unsigned *sink, seed;
	int sms;
	cudaStream_t stream;
	cudaEvent_t from, to;
};

// Lines of the buffer stay in the cache's part that is set aside, where the device has one; no bytes: no longer.
static void
set_window(Reader &reader, size_t bytes)
{
	static bool said;
	int most = attribute(cudaDevAttrMaxPersistingL2CacheSize), window = attribute(cudaDevAttrMaxAccessPolicyWindowSize);
	cudaError_t limit = cudaDeviceSetLimit(cudaLimitPersistingL2CacheSize, bytes ? static_cast<size_t>(most) : 0);
	cudaStreamAttrValue value = {};
	value.accessPolicyWindow.base_ptr = reader.buffer;
	value.accessPolicyWindow.num_bytes = std::min(bytes, static_cast<size_t>(window));
	value.accessPolicyWindow.hitRatio = 1;
	value.accessPolicyWindow.hitProp = bytes ? cudaAccessPropertyPersisting : cudaAccessPropertyNormal;
	value.accessPolicyWindow.missProp = bytes ? cudaAccessPropertyStreaming : cudaAccessPropertyNormal;
	cudaError_t set = cudaStreamSetAttribute(reader.stream, cudaStreamAttributeAccessPolicyWindow, &value);
	if (!bytes)
		cudaCtxResetPersistingL2Cache();
	else if (!said)
		say("cache.persisting",
			std::to_string(most >> 20) + " MiB, limit " + name_of(limit) + ", window " + name_of(set));
	said = said || bytes;
	cudaGetLastError();
}

static double
chase(Reader &reader)
{
	std::vector<unsigned> clocks(static_cast<size_t>(reader.sms));
	chase_kernel<<<reader.sms, 1, 0, reader.stream>>>(reinterpret_cast<unsigned *>(reader.buffer),
		static_cast<unsigned>(shared->bytes / 128), reader.seed++, reader.sink);
	MUST(cudaGetLastError());
	MUST(cudaStreamSynchronize(reader.stream));
	MUST(cudaMemcpy(clocks.data(), reader.sink, clocks.size() * 4, cudaMemcpyDeviceToHost));
	std::vector<double> each(clocks.begin(), clocks.end());
	return median_of(each) / LOADS;
}

static double
read_all(Reader &reader)
{
	float ms = 0;
	MUST(cudaEventRecord(reader.from, reader.stream));
	read_kernel<<<2 * reader.sms, 1024, 0, reader.stream>>>(reader.buffer, shared->bytes / 16, reader.sink);
	MUST(cudaEventRecord(reader.to, reader.stream));
	MUST(cudaStreamSynchronize(reader.stream));
	MUST(cudaEventElapsedTime(&ms, reader.from, reader.to));
	return ms * 1e3;
}

static void
read_on_demand(int socket)
{
	Reader reader = {};
	device_open();
	reader.sms = attribute(cudaDevAttrMultiProcessorCount);
	MUST(cudaMalloc(reinterpret_cast<void **>(&reader.buffer), BUFFER));
	MUST(cudaMalloc(&reader.other, FLUSH));
	MUST(cudaMalloc(reinterpret_cast<void **>(&reader.sink), static_cast<size_t>(reader.sms) * 4));
	MUST(cudaStreamCreate(&reader.stream));
	MUST(cudaEventCreate(&reader.from));
	MUST(cudaEventCreate(&reader.to));
	MUST(fill(reader.buffer, BUFFER, 0));
	tell(socket, 'r');
	for (char letter; (letter = hear(socket, static_cast<int>(LIMIT))) != 'q'; tell(socket, 'k')) {
		if (letter == 'P' || letter == 'R')
			set_window(reader, letter == 'P' ? shared->bytes : 0);
		if (letter == 'w' || letter == 'P' || letter == 'p')
			for (int i = 0; i < 2; i++)
				if (letter == 'p')
					keep_kernel<<<2 * reader.sms, 1024, 0, reader.stream>>>(
						reader.buffer, shared->bytes / 16, reader.sink);
				else
					read_kernel<<<2 * reader.sms, 1024, 0, reader.stream>>>(
						reader.buffer, shared->bytes / 16, reader.sink);
		MUST(cudaGetLastError());
		if (letter == 'f')
			MUST(fill(reader.other, FLUSH, 1));
		if (letter == 'c')
			shared->value = chase(reader);
		if (letter == 'r')
			shared->value = read_all(reader);
		MUST(cudaDeviceSynchronize());
	}
}

// What is done before each measurement: letters for the child; '!': the parent writes 256 MiB, '.': it runs an empty kernel.
static const struct {
	const char *name, *steps;
} CACHES[] = {{"warm", "w"}, {"flushed by itself", "wf"}, {"an empty kernel of the other between", "w."},
	{"flushed by the other", "w!"}, {"kept by evict_last", "p"}, {"kept by evict_last, flushed by the other", "p!"},
	{"kept by evict_last, flushed by itself", "pf"}, {"persisting window", "P"},
	{"persisting window, flushed by the other", "P!"}, {"persisting window, flushed by itself", "Pf"}};

static void
measure_cache(int socket, const char *name, const char *steps, void *mine)
{
	std::vector<double> loads, reads;
	std::string key = std::string("cache.") + std::to_string(shared->bytes >> 20) + " MiB " + name;
	double end = now_us() + 4e5;
	ask(socket, 'R', 'k');
	for (int i = 0; i < 40 && now_us() < end; i++)
		for (char measure : {'c', 'r'}) {
			for (const char *letter = steps; *letter; letter++)
				if (*letter == '!')
					MUST(fill(mine, FLUSH, static_cast<uint64_t>(i)));
				else if (*letter == '.')
					run_kernel(0);
				else
					ask(socket, *letter, 'k');
			ask(socket, measure, 'k');
			(measure == 'c' ? loads : reads).push_back(shared->value);
		}
	say_quantiles(key + ", clocks a load", loads);
	say_quantiles(key + ", read in us", reads);
}

static void
part_cache()
{
	Child child = start_best(read_on_demand);
	device_open();
	void *mine = nullptr;
	MUST(cudaMalloc(&mine, FLUSH));
	say("cache.size", std::to_string(attribute(cudaDevAttrL2CacheSize) >> 20) + " MiB");
	expect(child.socket, 'r');
	for (size_t bytes : {BUFFER / 4, BUFFER}) {
		shared->bytes = bytes;
		for (auto &state : CACHES)
			measure_cache(child.socket, state.name, state.steps, mine);
	}
	tell(child.socket, 'q');
	await_end(child, WAIT);
}
