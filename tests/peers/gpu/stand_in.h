/* SPDX-License-Identifier: MIT */
/*
 * No GPU: a stand-in for the part of the CUDA and HIP runtimes that the harness eval.cu and simple submissions use, so
 * that what they do on the host can be run in tests where there is neither a device nor a compiler for one.
 *
 * "Device memory" is the host's, kernels are C++ functions that run at once, thread after thread, block after block, in
 * the caller. What a device does at the same time, its memory model, its limits and its speed are not imitated: a kernel
 * that is right here may still be wrong there. What is imitated: errors that stay until they are read, errors that stay for
 * good, an end of the memory, no device at all, streams that are busy longer than an event, and barriers, for files that are
 * compiled with STAND_IN_BARRIERS (each thread of a block is then a context of its own).
 *
 * STAND_IN(name) gives a name its prefix; cuda_runtime.h and hip/hip_runtime.h define it. There is no syntax for
 * kernel<<<blocks, threads>>>(arguments): the compiler wrapper writes GPU_LAUNCH(kernel, blocks, threads,
 * arguments) in its place.
 */
#ifndef STAND_IN_H
#define STAND_IN_H

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <thread>
#include <vector>
#ifdef STAND_IN_BARRIERS
#include <ucontext.h>

#include <functional>
#include <memory>
#endif

#define __host__
#define __device__
#define __global__
#define __shared__ static /* blocks run one after the other */
#define __launch_bounds__(...)
#define __forceinline__ inline
#define __grid_constant__

struct dim3 {
	unsigned x, y, z;
	constexpr dim3(unsigned a = 1, unsigned b = 1, unsigned c = 1) : x(a), y(b), z(c)
	{
	}
};
struct uint4 {
	unsigned x, y, z, w;
};
struct float4 {
	float x, y, z, w;
};
inline dim3 threadIdx, blockIdx, blockDim, gridDim;

enum STAND_IN(Error_t) {
	STAND_IN(Success) = 0,
	STAND_IN(ErrorInvalidValue) = 1,
	STAND_IN(ErrorMemoryAllocation) = 2,
	STAND_IN(ErrorInvalidConfiguration) = 9,
	STAND_IN(ErrorNoDevice) = 100,
	STAND_IN(ErrorIllegalAddress) = 700,
};
enum STAND_IN(MemcpyKind) {
	STAND_IN(MemcpyHostToHost),
	STAND_IN(MemcpyHostToDevice),
	STAND_IN(MemcpyDeviceToHost),
	STAND_IN(MemcpyDeviceToDevice)
};
enum STAND_IN(DeviceAttr) {
	cudaDevAttrL2CacheSize,
	cudaDevAttrMultiProcessorCount,
	hipDeviceAttributeL2CacheSize = 0,
	hipDeviceAttributeMultiprocessorCount = 1
};
using stand_in_clock = std::chrono::steady_clock;
struct stand_in_event {
	stand_in_clock::time_point at;
};
using STAND_IN(Event_t) = stand_in_event *;
using STAND_IN(Stream_t) = struct stand_in_stream *;

/* What a test can say of the "device". */
struct stand_in_device {
	size_t cache = 64 << 10, memory = size_t{128} << 20, used = 0;
	STAND_IN(Error_t) last = STAND_IN(Success);  /* until it is read */
	STAND_IN(Error_t) stays = STAND_IN(Success); /* permanently */
	stand_in_clock::time_point busy_until;       /* of streams that no event sees */
	std::map<void *, size_t> allocated;
	std::vector<stand_in_event *> events;
};
inline stand_in_device &
stand_in()
{
	static stand_in_device *device = new stand_in_device;
	return *device;
}

inline STAND_IN(Error_t) stand_in_now(STAND_IN(Error_t) code = STAND_IN(Success))
{
	stand_in_device &device = stand_in();
	if (device.stays != STAND_IN(Success))
		return device.stays;
	if (code != STAND_IN(Success))
		device.last = code;
	return code;
}

inline const char *
STAND_IN(GetErrorString)(STAND_IN(Error_t) code)
{
	switch (static_cast<int>(code)) {
	case 0:
		return "no error";
	case 2:
		return "out of memory";
	case 9:
		return "invalid configuration argument";
	case 100:
		return "no device is detected (by the stand-in)";
	case 700:
		return "an illegal memory access was encountered";
	}
	return "an error of the stand-in";
}
inline STAND_IN(Error_t) STAND_IN(GetLastError)()
{
	stand_in_device &device = stand_in();
	STAND_IN(Error_t) code = device.stays != STAND_IN(Success) ? device.stays : device.last;
	device.last = STAND_IN(Success);
	return code;
}
inline STAND_IN(Error_t) STAND_IN(GetDeviceCount)(int *count)
{
	const char *said = getenv("STAND_IN_DEVICES");
	*count = said ? atoi(said) : 1;
	return *count < 0 ? STAND_IN(ErrorNoDevice) : STAND_IN(Success);
}
inline STAND_IN(Error_t) STAND_IN(SetDevice)(int)
{
	return stand_in_now();
}
inline STAND_IN(Error_t) STAND_IN(DeviceGetAttribute)(int *value, STAND_IN(DeviceAttr) which, int)
{
	*value = static_cast<int>(which) == 0 ? static_cast<int>(stand_in().cache) : 1;
	return STAND_IN(Success);
}
inline STAND_IN(Error_t) STAND_IN(MemGetInfo)(size_t *unused, size_t *all)
{
	*all = stand_in().memory;
	*unused = *all - stand_in().used;
	return stand_in_now();
}
inline STAND_IN(Error_t) STAND_IN(Malloc)(void **memory, size_t size)
{
	stand_in_device &device = stand_in();
	if (device.stays != STAND_IN(Success))
		return device.stays;
	void *made = size <= device.memory - device.used ? malloc(size) : nullptr;
	if (!made)
		return stand_in_now(STAND_IN(ErrorMemoryAllocation));
	device.allocated[made] = size;
	device.used += size;
	*memory = made;
	return STAND_IN(Success);
}
template <class T> STAND_IN(Error_t) STAND_IN(Malloc)(T **memory, size_t size)
{
	return STAND_IN(Malloc)(reinterpret_cast<void **>(memory), size);
}
inline STAND_IN(Error_t) STAND_IN(Free)(void *memory)
{
	stand_in_device &device = stand_in();
	auto found = device.allocated.find(memory);
	if (memory && found == device.allocated.end())
		return stand_in_now(STAND_IN(ErrorInvalidValue));
	if (memory) {
		device.used -= found->second;
		device.allocated.erase(found);
		free(memory);
	}
	return stand_in_now();
}
inline STAND_IN(Error_t) STAND_IN(Memset)(void *memory, int value, size_t size)
{
	memset(memory, value, size);
	return stand_in_now();
}
inline STAND_IN(Error_t) STAND_IN(Memcpy)(void *to, const void *from, size_t size, STAND_IN(MemcpyKind))
{
	if (size > 0 && stand_in().stays == STAND_IN(Success))
		memcpy(to, from, size);
	return stand_in_now();
}
inline STAND_IN(Error_t) STAND_IN(MemcpyAsync)(
	void *to, const void *from, size_t size, STAND_IN(MemcpyKind) kind, STAND_IN(Stream_t) = nullptr)
{
	return STAND_IN(Memcpy)(to, from, size, kind);
}
inline STAND_IN(Error_t) STAND_IN(DeviceSynchronize)()
{
	std::this_thread::sleep_until(stand_in().busy_until);
	return stand_in_now();
}
inline STAND_IN(Error_t) STAND_IN(DeviceReset)()
{
	for (auto &one : stand_in().allocated)
		free(one.first);
	stand_in().allocated.clear();
	stand_in().used = 0;
	return stand_in_now();
}
inline STAND_IN(Error_t) STAND_IN(EventCreate)(STAND_IN(Event_t) * event)
{
	*event = new stand_in_event;
	stand_in().events.push_back(*event);
	return stand_in_now();
}
inline STAND_IN(Error_t) STAND_IN(EventRecord)(STAND_IN(Event_t) event, STAND_IN(Stream_t) = nullptr)
{
	event->at = stand_in_clock::now();
	return stand_in_now();
}
inline STAND_IN(Error_t) STAND_IN(EventSynchronize)(STAND_IN(Event_t))
{
	return stand_in_now();
}
inline STAND_IN(Error_t) STAND_IN(EventElapsedTime)(float *ms, STAND_IN(Event_t) start, STAND_IN(Event_t) end)
{
	*ms = std::chrono::duration<float, std::milli>(end->at - start->at).count();
	return stand_in_now();
}

/* ---- What kernels call ---- */

inline unsigned
atomicAdd(unsigned *number, unsigned more)
{
	unsigned before = *number;
	*number += more;
	return before;
}
inline long long
clock64()
{
	return stand_in_clock::now().time_since_epoch().count();
}

/* ---- Launches ---- */

inline bool
stand_in_configure(dim3 blocks, dim3 threads)
{
	bool possible = threads.x * threads.y * threads.z - 1u < 1024 && blocks.x > 0 && blocks.y > 0 && blocks.z > 0;
	if (stand_in_now(possible ? STAND_IN(Success) : STAND_IN(ErrorInvalidConfiguration)) != STAND_IN(Success))
		return false;
	gridDim = blocks;
	blockDim = threads;
	return true;
}

inline bool
stand_in_next(dim3 &index, dim3 size)
{
	if (++index.x < size.x)
		return true;
	index.x = 0;
	if (++index.y < size.y)
		return true;
	index.y = 0;
	return ++index.z < size.z;
}

template <class F>
void
stand_in_block_plain(F run)
{
	threadIdx = dim3(0, 0, 0);
	do
		run();
	while (stand_in_next(threadIdx, blockDim));
}

#ifdef STAND_IN_BARRIERS
/* Threads of a block that take turns: each runs until its next barrier, then the next one does. */
struct stand_in_team {
	static constexpr size_t STACK = 64 << 10;
	struct member {
		ucontext_t context;
		std::unique_ptr<char[]> stack{new char[STACK]};
		bool ended = false;
	};
	ucontext_t back;
	std::vector<member> members;
	size_t turn = 0;
	std::function<void()> run;
};
static stand_in_team team;

static void
stand_in_member()
{
	team.run();
	team.members[team.turn].ended = true;
	swapcontext(&team.members[team.turn].context, &team.back);
}

static inline void
__syncthreads()
{
	swapcontext(&team.members[team.turn].context, &team.back);
}

template <class F>
static void
stand_in_block(F run)
{
	size_t count = size_t{blockDim.x} * blockDim.y * blockDim.z, left = count;
	team.run = run;
	while (team.members.size() < count)
		team.members.emplace_back();
	for (size_t i = 0; i < count; i++) {
		auto &member = team.members[i];
		member.ended = false;
		getcontext(&member.context);
		member.context.uc_stack.ss_sp = member.stack.get();
		member.context.uc_stack.ss_size = stand_in_team::STACK;
		makecontext(&member.context, stand_in_member, 0);
	}
	while (left > 0) {
		threadIdx = dim3(0, 0, 0);
		for (team.turn = 0; team.turn < count; team.turn++) {
			if (!team.members[team.turn].ended) {
				dim3 mine = threadIdx;
				swapcontext(&team.back, &team.members[team.turn].context);
				threadIdx = mine;
				left -= team.members[team.turn].ended;
			}
			stand_in_next(threadIdx, blockDim);
		}
	}
}
#else
#define stand_in_block stand_in_block_plain
#endif

template <class F>
static void
stand_in_launch(dim3 blocks, dim3 threads, F run)
{
	if (!stand_in_configure(blocks, threads))
		return;
	blockIdx = dim3(0, 0, 0);
	do
		stand_in_block(run);
	while (stand_in_next(blockIdx, gridDim));
}

/* As `kernel<<<blocks, threads>>>(arguments)`; arguments are copied, as a launch does. */
#define GPU_LAUNCH(kernel, blocks, threads, ...) \
	stand_in_launch(blocks, threads, \
		[=, stand_in_arguments = std::make_tuple(__VA_ARGS__)] { std::apply(kernel, stand_in_arguments); })

#endif
