// SPDX-License-Identifier: MIT
// CUDA and HIP under one set of names, and memory of the device, for the harness eval.cu and for the tasks that it runs.
//
//   GPU(Malloc)    cudaMalloc, or with hipcc hipMalloc; so for every name that both have: GPU(Error_t), GPU(Success) …
//   GPU_LAUNCH(kernel, blocks, threads, arguments…)
//   Span<T>        elements on the device that another object owns: what a submission gets
//   Device<T>      elements on the device: what a reference makes and compares; here only where GPU_HARNESS is defined
//                  before, as eval.cu does. Its headers of the standard library would take a submission longer to compile
//                  than all the rest.
#ifndef KETTLE_GPU_H
#define KETTLE_GPU_H

#if defined(__HIP__) || defined(__HIPCC__)
#include <hip/hip_runtime.h>
#define GPU(name) hip##name
#define GPU_RUNTIME "HIP"
#define GPU_CACHE hipDeviceAttributeL2CacheSize
#define GPU_CORES hipDeviceAttributeMultiprocessorCount
#else
#include <cuda_runtime.h>
#define GPU(name) cuda##name
#define GPU_RUNTIME "CUDA"
#define GPU_CACHE cudaDevAttrL2CacheSize
#define GPU_CORES cudaDevAttrMultiProcessorCount
#endif

#ifndef GPU_LEAST_CACHE // bytes: a memory-side cache, such as the MI300's, is none that the runtime tells of
#ifdef __HIP__
#define GPU_LEAST_CACHE (256u << 20)
#else
#define GPU_LEAST_CACHE 0
#endif
#endif

#ifndef GPU_LAUNCH // a compiler without <<<>>> needs another definition
#define GPU_LAUNCH(kernel, blocks, threads, ...) kernel<<<blocks, threads>>>(__VA_ARGS__)
#endif

#include <stddef.h>
#include <stdint.h>

// For kernels as well as for the host, which can read its size but no element.
template <class T> struct Span {
	T *first = nullptr;
	size_t count = 0;

	__host__ __device__ T *data() const
	{
		return first;
	}
	__host__ __device__ size_t size() const
	{
		return count;
	}
	__host__ __device__ T &operator[](size_t i) const
	{
		return first[i];
	}
};

#endif

#if defined(GPU_HARNESS) && !defined(KETTLE_GPU_HARNESS_H)
#define KETTLE_GPU_HARNESS_H

#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

// Nothing below can be replaced when linking.
namespace
{
struct GpuError : std::runtime_error {
	GPU(Error_t) code;
	GpuError(GPU(Error_t) error, const std::string &what)
		: std::runtime_error(what + ": " + GPU(GetErrorString)(error) + " (" GPU_RUNTIME " error " +
							 std::to_string(static_cast<int>(error)) + ")"),
		  code(error)
	{
	}
};

inline void
gpu_check(GPU(Error_t) code, const char *what)
{
	if (code != GPU(Success))
		throw GpuError(code, what);
}

constexpr unsigned GPU_THREADS = 256, GPU_MOST_BLOCKS = 1 << 16; // of a block; of a launch that strides

inline unsigned
gpu_blocks(size_t count)
{
	size_t blocks = (count + GPU_THREADS - 1) / GPU_THREADS;
	return blocks < 1 ? 1 : blocks < GPU_MOST_BLOCKS ? static_cast<unsigned>(blocks) : GPU_MOST_BLOCKS;
}

// The n-th number of the generator Random of utils.h, from 0 to 1.
__device__ inline float
gpu_random(uint64_t seed, uint64_t n)
{
	uint64_t z = seed + (n + 1) * 0x9e3779b97f4a7c15u;
	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
	return static_cast<float>((z ^ (z >> 31)) >> 40) * 0x1p-24f;
}

template <class T>
__global__ void
gpu_fill(T *to, size_t count, uint64_t seed, float low, float high)
{
	for (size_t i = size_t{blockIdx.x} * blockDim.x + threadIdx.x; i < count; i += size_t{gridDim.x} * blockDim.x)
		to[i] = static_cast<T>(low + (high - low) * gpu_random(seed, i));
}

// Elements on the device; a copy is a copy of them. Its functions throw GpuError.
template <class T> class Device
{
  public:
	Device() = default;
	// Every byte 0xff: not-a-number in each floating-point format, -1 in integers.
	explicit Device(size_t count) : count_(count)
	{
		gpu_check(GPU(Malloc)(reinterpret_cast<void **>(&first_), bytes() ? bytes() : 1), "no memory on the device");
		gpu_check(GPU(Memset)(first_, 0xff, bytes()), "the device's memory cannot be filled");
	}
	explicit Device(const std::vector<T> &values) : Device(values.size())
	{
		gpu_check(GPU(Memcpy)(first_, values.data(), bytes(), GPU(MemcpyHostToDevice)), "copying to the device failed");
	}
	Device(const Device &other) : Device(other.count_)
	{
		gpu_check(
			GPU(Memcpy)(first_, other.first_, bytes(), GPU(MemcpyDeviceToDevice)), "copying on the device failed");
	}
	Device(Device &&other) noexcept
	{
		swap(other);
	}
	Device &operator=(Device other)
	{
		swap(other);
		return *this;
	}
	~Device()
	{
		if (first_)
			(void)GPU(Free)(first_);
	}
	// Made on the device from the seed alone: `low` to `high`, which is not included.
	static Device uniforms(size_t count, uint64_t seed, float low, float high)
	{
		Device made(count);
		GPU_LAUNCH(gpu_fill<T>, gpu_blocks(count), GPU_THREADS, made.data(), count, seed, low, high);
		gpu_check(GPU(GetLastError)(), "filling the device's memory failed");
		return made;
	}
	T *data()
	{
		return first_;
	}
	const T *data() const
	{
		return first_;
	}
	size_t size() const
	{
		return count_;
	}
	std::vector<T> host() const
	{
		std::vector<T> values(count_);
		gpu_check(
			GPU(Memcpy)(values.data(), first_, bytes(), GPU(MemcpyDeviceToHost)), "copying from the device failed");
		return values;
	}

  private:
	void swap(Device &other)
	{
		std::swap(first_, other.first_);
		std::swap(count_, other.count_);
	}
	size_t bytes() const
	{
		return count_ * sizeof(T);
	}

	T *first_ = nullptr;
	size_t count_ = 0;
};
} // namespace

#endif
