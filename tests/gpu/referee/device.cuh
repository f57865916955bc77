// SPDX-License-Identifier: MIT
// The device: kernels, memory that has a descriptor, and each step with its time or its error. On the stand-in of tests/peers/gpu
// there is no device to measure: what the host does runs, kernels take their time on the host.
#ifndef REFEREE_DEVICE_CUH
#define REFEREE_DEVICE_CUH

#include "host.cuh"

#ifdef STAND_IN

static void
device_open()
{
}

static void
run_kernel(uint64_t ns)
{
	for (double end = now_us() + static_cast<double>(ns) / 1e3; ns && now_us() < end;)
		continue;
}

static double
run_timed(uint64_t ns)
{
	double began = now_us();
	run_kernel(ns);
	return now_us() - began;
}

static void
make_snapshot()
{
}

#else

#include <cuda.h>
#include <dlfcn.h>

// ---- Errors and times ----

static std::string
name_of(cudaError_t code)
{
	return std::to_string(code) + " " + cudaGetErrorName(code);
}

struct Driver {
	decltype(&cuGetErrorName) error_name;
	decltype(&cuMemGetAllocationGranularity) granularity;
	decltype(&cuMemCreate) create;
	decltype(&cuMemExportToShareableHandle) to_fd;
	decltype(&cuMemImportFromShareableHandle) from_fd;
	decltype(&cuMemAddressReserve) reserve;
	decltype(&cuMemMap) map;
	decltype(&cuMemSetAccess) set_access;
	decltype(&cuMemUnmap) unmap;
	decltype(&cuMemRelease) release;
	decltype(&cuMemAddressFree) unreserve;
};
static Driver driver;

static void
load_driver()
{
	void *library = dlopen("libcuda.so.1", RTLD_NOW);
	if (!library)
		quit(dlerror());
#define LOAD(field, symbol) \
	if (!(driver.field = reinterpret_cast<decltype(driver.field)>(dlsym(library, #symbol)))) \
	quit("the driver has no " #symbol)
	LOAD(error_name, cuGetErrorName);
	LOAD(granularity, cuMemGetAllocationGranularity);
	LOAD(create, cuMemCreate);
	LOAD(to_fd, cuMemExportToShareableHandle);
	LOAD(from_fd, cuMemImportFromShareableHandle);
	LOAD(reserve, cuMemAddressReserve);
	LOAD(map, cuMemMap);
	LOAD(set_access, cuMemSetAccess);
	LOAD(unmap, cuMemUnmap);
	LOAD(release, cuMemRelease);
	LOAD(unreserve, cuMemAddressFree);
}

static std::string
name_of(CUresult code)
{
	const char *name = nullptr;
	driver.error_name(code, &name);
	return std::to_string(code) + " " + (name ? name : "?");
}

// Whatever else happens is then without meaning.
template <class Code>
static void
must(const char *what, Code code)
{
	if (code != Code{})
		quit(std::string(what) + ": " + name_of(code));
}
#define MUST(call) must(#call, call)

// One step: its time, or its error.
template <class F>
static bool
step(const std::string &key, F call)
{
	double began = now_us();
	auto code = call();
	double took = now_us() - began;
	say(key, code == decltype(code){} ? "ok in " + number(took) + " us" : "error " + name_of(code));
	return code == decltype(code){};
}

static void
device_open()
{
	load_driver();
	double began = now_us();
	MUST(cudaSetDeviceFlags(cudaDeviceScheduleSpin));
	MUST(cudaFree(nullptr));
	say(me + "context", number((now_us() - began) / 1e3) + " ms");
}

static size_t
free_bytes()
{
	size_t unused = 0, all = 0;
	MUST(cudaMemGetInfo(&unused, &all));
	return unused;
}

static int
attribute(cudaDeviceAttr which)
{
	int value = 0;
	MUST(cudaDeviceGetAttribute(&value, which, 0));
	return value;
}

// ---- Kernels ----

__device__ static uint64_t
device_ns()
{
	uint64_t value;
	asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(value)::"memory");
	return value;
}

__global__ void
spin_kernel(uint64_t ns)
{
	for (uint64_t began = device_ns(); ns && device_ns() - began < ns;)
		continue;
}

__global__ void
endless_kernel(volatile uint64_t *word)
{
	while (*word != 1)
		continue;
}

__global__ void
write_kernel(uint64_t *to, uint64_t value)
{
	*to = value;
}

__global__ void
trap_kernel()
{
	__trap();
}

__global__ void
fill_kernel(uint64_t *words, size_t count, uint64_t value)
{
	for (size_t i = blockIdx.x * size_t{blockDim.x} + threadIdx.x; i < count; i += size_t{gridDim.x} * blockDim.x)
		words[i] = value;
}

__global__ void
copy_kernel(uint64_t *to, const uint64_t *from, size_t count)
{
	for (size_t i = blockIdx.x * size_t{blockDim.x} + threadIdx.x; i < count; i += size_t{gridDim.x} * blockDim.x)
		to[i] = from[i];
}

// counters: how many words are the value, how many are not 0.
__global__ void
count_kernel(const uint64_t *words, size_t count, uint64_t value, unsigned long long *counters)
{
	unsigned long long same = 0, some = 0;
	for (size_t i = blockIdx.x * size_t{blockDim.x} + threadIdx.x; i < count; i += size_t{gridDim.x} * blockDim.x) {
		same += words[i] == value;
		some += words[i] != 0;
	}
	if (same)
		atomicAdd(&counters[0], same);
	if (some)
		atomicAdd(&counters[1], some);
}

static void
run_kernel(uint64_t ns)
{
	spin_kernel<<<1, 32>>>(ns);
	MUST(cudaGetLastError());
	MUST(cudaDeviceSynchronize());
}

// A kernel between two events: their time in µs.
static double
run_timed(uint64_t ns)
{
	static cudaEvent_t from, to;
	if (!from) {
		MUST(cudaEventCreate(&from));
		MUST(cudaEventCreate(&to));
	}
	MUST(cudaEventRecord(from));
	spin_kernel<<<1, 32>>>(ns);
	MUST(cudaEventRecord(to));
	MUST(cudaDeviceSynchronize());
	float ms = 0;
	MUST(cudaEventElapsedTime(&ms, from, to));
	return ms * 1e3;
}

// 1 MiB by a kernel of its own, as a referee keeps outputs.
static void
make_snapshot()
{
	static const size_t words = 1 << 17;
	static uint64_t *from, *to;
	if (!from) {
		MUST(cudaMalloc(reinterpret_cast<void **>(&from), words * 8));
		MUST(cudaMalloc(reinterpret_cast<void **>(&to), words * 8));
	}
	copy_kernel<<<128, 256>>>(to, from, words);
	MUST(cudaGetLastError());
	MUST(cudaDeviceSynchronize());
}

static cudaError_t
fill(void *at, size_t size, uint64_t value)
{
	fill_kernel<<<1024, 256>>>(static_cast<uint64_t *>(at), size / 8, value);
	cudaError_t code = cudaGetLastError();
	return code == cudaSuccess ? cudaDeviceSynchronize() : code;
}

struct Count {
	unsigned long long same, some;
};

static Count
count(const void *at, size_t size, uint64_t value)
{
	static unsigned long long *counters;
	Count found = {};
	if (!counters)
		MUST(cudaMalloc(reinterpret_cast<void **>(&counters), sizeof(found)));
	MUST(cudaMemset(counters, 0, sizeof(found)));
	count_kernel<<<1024, 256>>>(static_cast<const uint64_t *>(at), size / 8, value, counters);
	MUST(cudaGetLastError());
	MUST(cudaMemcpy(&found, counters, sizeof(found), cudaMemcpyDeviceToHost));
	return found;
}

static std::string
share_of(unsigned long long words, size_t size)
{
	return words == size / 8 ? "all"
		   : words == 0      ? "none"
							 : std::to_string(words) + " of " + std::to_string(size / 8) + " words";
}

// ---- Memory that has a descriptor ----

struct Mapped {
	CUmemGenericAllocationHandle handle;
	CUdeviceptr at;
	size_t size;

	void *pointer() const
	{
		return reinterpret_cast<void *>(at);
	}
};

static CUmemAllocationProp
properties()
{
	CUmemAllocationProp made = {};
	made.type = CU_MEM_ALLOCATION_TYPE_PINNED;
	made.requestedHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
	made.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
	made.location.id = 0;
	return made;
}

static CUresult
create(Mapped &memory)
{
	CUmemAllocationProp wanted = properties();
	return driver.create(&memory.handle, memory.size, &wanted, 0);
}

static CUresult
allow(const Mapped &memory, CUmemAccess_flags flags)
{
	CUmemAccessDesc access = {};
	access.location = properties().location;
	access.flags = flags;
	return driver.set_access(memory.at, memory.size, &access, 1);
}

static CUresult
export_fd(const Mapped &memory, int *fd)
{
	return driver.to_fd(fd, memory.handle, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0);
}

static CUresult
import_fd(Mapped &memory, int fd)
{
	return driver.from_fd(
		&memory.handle, reinterpret_cast<void *>(static_cast<uintptr_t>(fd)), CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR);
}

// Reserves, maps and gives access to what a handle stands for, each step with its line.
static bool
map_steps(const std::string &key, Mapped &memory)
{
	return step(key + "reserve", [&] { return driver.reserve(&memory.at, memory.size, 0, 0, 0); }) &&
		   step(key + "map", [&] { return driver.map(memory.at, memory.size, 0, memory.handle, 0); }) &&
		   step(key + "access", [&] { return allow(memory, CU_MEM_ACCESS_FLAGS_PROT_READWRITE); });
}

static bool
make_steps(const std::string &key, Mapped &memory)
{
	return step(key + "create", [&] { return create(memory); }) && map_steps(key, memory);
}

static bool
take_steps(const std::string &key, Mapped &memory, int socket)
{
	int fd = take_fd(socket);
	bool fine = step(key + "import", [&] { return import_fd(memory, fd); });
	close(fd);
	return fine && map_steps(key, memory);
}

static void
give_steps(const std::string &key, const Mapped &memory, int socket)
{
	int fd = -1;
	if (!step(key + "export", [&] { return export_fd(memory, &fd); }))
		quit("nothing to pass");
	pass_fd(socket, fd);
	close(fd);
}

static void
drop_steps(const std::string &key, const Mapped &memory)
{
	step(key + "unmap", [&] { return driver.unmap(memory.at, memory.size); });
	step(key + "release", [&] { return driver.release(memory.handle); });
	step(key + "unreserve", [&] { return driver.unreserve(memory.at, memory.size); });
}

// How long it takes until as much is free as once was, and what is missing then.
static void
say_returned(const std::string &key, size_t before)
{
	double began = now_us();
	size_t now;
	while ((now = free_bytes()) + (4 << 20) < before && now_us() - began < 5e6)
		usleep(1000);
	say(key, (now + (4 << 20) < before ? std::to_string((before - now) >> 20) + " MiB are missing after "
									   : "all is free after ") +
				 number((now_us() - began) / 1e3) + " ms");
}

#endif
#endif
