// SPDX-License-Identifier: MIT
// kettle-reports: complete
// kettle-host: supervised
// The harness of CUDA and HIP boards: started as `program <mode> <cases file>`, it checks and times the submission.
//
// For authors. A task brings three things besides this file, gpu.h, harness.h and utils.h (tasks/vectoradd_cuda is an
// example); nvcc and hipcc take the same sources:
//
//   task.h          includes gpu.h and declares what the submission defines:
//                     void custom_kernel(Span<const float> a, Span<const float> b, Span<float> sum);
//   reference.cuh   includes task.h and utils.h, and defines
//                     using input_t = std::tuple<Device<float>, Device<float>>; using output_t = Device<float>;
//                     static input_t generate_input(const Case &c);   (everything from c: c.size("n"), c.seed() …; called
//                                                                     twice for each call, it must give the same)
//                     static output_t make_output(const input_t &);   (as the submission finds it: full of NaN)
//                     static std::string check_implementation(const input_t &, const output_t &);  ("" if right, else a
//                                                                     sentence for the participant)
//                   and, if it likes, #define BENCHMARK_SECONDS, RANKED_SECONDS (see harness.h)
//   task.yml        config: {sources: [eval.cu, submission.cu]}
//
// input_t and output_t are single values or tuples of any length. custom_kernel gets all elements of the input and then
// all of the output: of a Device<T> a Span<const T> or Span<T>, of anything else, such as a size, the value itself. It
// launches on the default stream or on streams of its own and need not wait for them. Throw BadCase for a case that makes
// no sense.
//
// What it does. test: one call per case, checked. benchmark and leaderboard: a few calls to warm up, then timed calls
// until the time is known well enough or is over, but never before enough calls. Every call, also those that warm up, has
// fresh inputs (where the case has a seed) and an output of its own at other addresses, starts with an idle device whose
// cache is cold (twice its size has been written), and is checked: the output is copied as soon as the device is idle,
// and the inputs to check it against are made anew after the call, so that there is nothing to find or to change while it
// runs. profile: two calls per case, the second in the NVTX range `custom_kernel`, and a report.
//
// The time of a call is the time between events before and behind it. Where other streams are busy longer than the
// event, by more than 50 µs, that is added; where the events give less than half of the host's time less 0.2 ms, the
// host's time is taken. Paired with it are two calibrators, right before it in random order, as in eval.cpp: arithmetic
// in registers on all cores (`tile`) and reading memory that is in no cache (`read`), as often in a row as the call
// takes long; and both together (`both`). eval.cpp documents how the pairs are evaluated, and the keys.
//
// What ends a run. 112: the submission is wrong, or has left the device with an error, after which the rest is not run.
// 110: there is no device, or it fails by itself: the machine's fault. 113: the task's.
//
// Theory of operation. The program is a shared object (-fPIC -shared -Wl,--entry=main -Wl,-init=kettle_harness_start), which
// kettle-host loads, in a process that may have opened the GPU before. Code of the submission runs before main, as
// constructors of its static objects. So seed and channel are not in this process: kettle-host's other one, the
// supervisor, keeps both. Here is only a socket in the channel's place and a token, which every message must begin with;
// kettle_harness_start, the object's DT_INIT, takes them out of the environment before any constructor runs. main
// requests the secret from the supervisor, which sends it once; from then on each message is a line of results
// (docs/protocol.md: `host`). A profile runs without supervisor, as a program: there is no secret then, and a profiler must
// see the process. By hand: kettle-host --channel POPCORN_FD ./program test CASES.
//
// What stays open in one process. The same as in eval.cpp, except the seed before main. Code that finds the token in
// memory, also a constructor, can act in main's place: request the seed, and report any results. From main on the
// submission can find the seed in memory, replace functions of the runtime when linking (events are checked against the
// host's clock, up to a factor of two and 0.2 ms), and change what the calibrators and the flush have in the device's
// memory, not the inputs of the check. Where that matters, use a harness with a referee and a solver.
#define GPU_HARNESS
#include "gpu.h"
#ifndef TASK_REFERENCE // eval_single.cu includes this file and defines its own
#define TASK_REFERENCE "reference.cuh"
#endif
#include TASK_REFERENCE

// Code compiled for a debugger is another calibrator.
#ifdef __CUDACC_DEBUG__
#define CALIBRATOR_CODE "-flags"
#else
#define CALIBRATOR_CODE ""
#endif
#if defined(__HIP__) || defined(__HIPCC__)
#define CALIBRATOR "hip-c-1"
#else
#define CALIBRATOR "cuda-c-1"
#endif
#include "harness.h"

#include <sys/socket.h>

#include <cstring>
#include <memory>
#include <tuple>

#if defined(__CUDACC__) && __has_include(<nvtx3/nvToolsExt.h>)
#include <nvtx3/nvToolsExt.h>
#define RANGE_PUSH(name) nvtxRangePushA(name)
#define RANGE_POP() nvtxRangePop()
#else
#define RANGE_PUSH(name) ((void)0)
#define RANGE_POP() ((void)0)
#endif

namespace
{
constexpr size_t PAGE = 4096, MAX_SHIFT = 4096; // by so many pages addresses differ from call to call
constexpr double NS_OF_MS = 1e6;
constexpr double IDLE_NS = 50e3;        // waiting for an idle device takes less
constexpr double HOST_SLACK_NS = 200e3; // recording, launching and waiting take less

// ---- The start ----

// All constructors have run. The answer is NAME=VALUE texts, each with its NUL, and an empty one.
void
ask_for_secret()
{
	char text[1024] = {}, *list[16] = {};
	if (!harness.token && harness.has_secret)
		stop(USAGE, "a run with a secret must be started by kettle-host");
	if (!harness.token)
		return;
	raw_syscall(
		SYS_sendto, harness.channel, reinterpret_cast<long>(&harness.token), sizeof(harness.token), MSG_NOSIGNAL);
	long size = raw_syscall(SYS_recvfrom, harness.channel, reinterpret_cast<long>(text), sizeof(text) - 1, 0);
	if (size <= 0)
		stop(TEST_FAILED, "the seed was requested before the harness started");
	size_t count = 0;
	for (char *at = text; *at && count < 15; at += strlen(at) + 1)
		list[count++] = at;
	take_seed(list); // a run without a secret has none
}

// ---- The device ----

// Errors that no code of a submission makes; the same numbers in CUDA and HIP.
bool
is_of_machine(GPU(Error_t) code)
{
	switch (static_cast<int>(code)) {
	case 3:   // not initialised
	case 35:  // the driver is older than the runtime, or missing
	case 46:  // all devices are busy or unavailable
	case 100: // no device
	case 214: // memory with an error that cannot be corrected
	case 220: // a link with one
	case 802: // system not ready
	case 803: // driver and libraries do not fit
		return true;
	default:
		return false;
	}
}

void
find_device()
{
	int count = 0;
	GPU(Error_t) code = GPU(GetDeviceCount)(&count);
	if (code != GPU(Success))
		throw MachineFault(GpuError(code, "no " GPU_RUNTIME "-capable device is usable").what());
	if (count == 0)
		throw MachineFault("no " GPU_RUNTIME "-capable device was found");
	code = GPU(SetDevice)(0);
	code = code == GPU(Success) ? GPU(Free)(nullptr) : code;
	if (code != GPU(Success))
		throw MachineFault(GpuError(code, "the " GPU_RUNTIME " device cannot be used").what());
}

size_t
attribute(decltype(GPU_CACHE) which, int otherwise)
{
	int value = 0;
	GPU(Error_t) code = GPU(DeviceGetAttribute)(&value, which, 0);
	return static_cast<size_t>(code == GPU(Success) && value > 0 ? value : otherwise);
}

// What the device's last cache holds.
size_t
device_cache_bytes()
{
	constexpr int unknown = 64 << 20;
	return std::max(attribute(GPU_CACHE, unknown), size_t{GPU_LEAST_CACHE});
}

template <class T>
__global__ void
sweep_kernel(T *memory, size_t count, T value)
{
	for (size_t i = size_t{blockIdx.x} * blockDim.x + threadIdx.x; i < count; i += size_t{gridDim.x} * blockDim.x)
		memory[i] = value;
}

// ---- Calibrators. A change of what they do needs other names. ----

constexpr unsigned TILE_LANES = 8, TILE_ROUNDS = 2048, TILE_BLOCKS = 2, READ_BLOCKS = 8; // blocks: for each core
constexpr size_t READ_LEAST = 8u << 20, READ_MOST = 128u << 20;                          // bytes

// As many multiplications as a core can do, out of registers.
template <unsigned LANES>
__global__ void
tile_kernel(float *sums, unsigned rounds, float factor, float term)
{
	float lanes[LANES];
	for (unsigned i = 0; i < LANES; i++)
		lanes[i] = static_cast<float>(threadIdx.x + i);
	for (unsigned round = 0; round < rounds; round++)
		for (unsigned i = 0; i < LANES; i++)
			lanes[i] = lanes[i] * factor + term;
	float sum = 0;
	for (unsigned i = 0; i < LANES; i++)
		sum += lanes[i];
	sums[size_t{blockIdx.x} * blockDim.x + threadIdx.x] = sum;
}

template <class T>
__global__ void
read_kernel(const T *memory, size_t count, float *sums)
{
	unsigned sum = 0;
	for (size_t i = size_t{blockIdx.x} * blockDim.x + threadIdx.x; i < count; i += size_t{gridDim.x} * blockDim.x) {
		T value = memory[i];
		sum += value.x + value.y + value.z + value.w;
	}
	sums[size_t{blockIdx.x} * blockDim.x + threadIdx.x] = static_cast<float>(sum);
}

// What the harness has on the device as long as it runs.
struct Bench {
	unsigned cores = static_cast<unsigned>(attribute(GPU_CORES, 1));
	size_t cache = device_cache_bytes(), read = std::min(std::max(cache, READ_LEAST), READ_MOST);
	Device<uint4> swept{2 * cache / sizeof(uint4)}, memory{MAX_TIMES * read / sizeof(uint4)};
	Device<float> sums{size_t{cores} * READ_BLOCKS * GPU_THREADS};
	GPU(Event_t) start = {}, end = {};

	Bench()
	{
		gpu_check(GPU(EventCreate)(&start), "cannot create an event");
		gpu_check(GPU(EventCreate)(&end), "cannot create an event");
	}
};

Bench &
bench()
{
	static Bench *bench = new Bench; // never destroyed: the process ends without that
	return *bench;
}

void
flush_cache()
{
	static unsigned value = 0;
	Bench &b = bench();
	uint4 words = {++value, value, value, value};
	GPU_LAUNCH(sweep_kernel<uint4>, gpu_blocks(b.swept.size()), GPU_THREADS, b.swept.data(), b.swept.size(), words);
	gpu_check(GPU(GetLastError)(), "the cache cannot be flushed");
	gpu_check(GPU(DeviceSynchronize)(), "the cache cannot be flushed");
}

void
launch_calibrator(Kind kind, size_t times)
{
	Bench &b = bench();
	if (kind == TILE)
		GPU_LAUNCH(tile_kernel<TILE_LANES>, b.cores * TILE_BLOCKS, GPU_THREADS, b.sums.data(),
			TILE_ROUNDS * static_cast<unsigned>(times), 0.999f, 0.5f);
	else
		GPU_LAUNCH(read_kernel<uint4>, b.cores * READ_BLOCKS, GPU_THREADS, b.memory.data(),
			times * b.read / sizeof(uint4), b.sums.data());
}

double
elapsed_ns()
{
	float ms = 0;
	gpu_check(GPU(EventElapsedTime)(&ms, bench().start, bench().end), "the device has lost its events");
	return static_cast<double>(ms) * NS_OF_MS;
}

void
run_calibrators(Call &call, size_t times)
{
	uint64_t random = chance().bits();
	for (size_t i = 0; i < 2; i++) {
		Kind kind = (random & 1) == i ? TILE : READ;
		gpu_check(GPU(EventRecord)(bench().start, nullptr), "the device does not record events");
		launch_calibrator(kind, times);
		gpu_check(GPU(EventRecord)(bench().end, nullptr), "the device does not record events");
		gpu_check(GPU(EventSynchronize)(bench().end), "the calibrators failed");
		call.calibrators[kind] = std::max(elapsed_ns(), 1.0) / static_cast<double>(times);
	}
	call.calibrators[BOTH] = call.calibrators[TILE] + call.calibrators[READ];
}

// ---- One call ----

// What of a value of input and output the submission gets.
template <class T>
Span<const T>
seen(const Device<T> &values)
{
	return {values.data(), values.size()};
}
template <class T>
const T &
seen(const T &value)
{
	return value;
}
template <class T>
Span<T>
given(Device<T> &values)
{
	return {values.data(), values.size()};
}
template <class T>
T &
given(T &value)
{
	return value;
}

template <class T>
std::tuple<T &>
elements(T &value)
{
	return std::tuple<T &>(value);
}
template <class... T>
std::tuple<T &...>
elements(std::tuple<T...> &values)
{
	return std::apply([](T &...value) { return std::tuple<T &...>(value...); }, values);
}
template <class... T>
std::tuple<const T &...>
elements(const std::tuple<T...> &values)
{
	return std::apply([](const T &...value) { return std::tuple<const T &...>(value...); }, values);
}

#ifndef SUBMISSION // eval_single.cu brings its own
template <class... I, class... O>
void
call_with(std::tuple<I &...> input, std::tuple<O &...> output)
{
	std::apply(
		[&](auto &...in) { std::apply([&](auto &...out) { custom_kernel(seen(in)..., given(out)...); }, output); },
		input);
}
#define SUBMISSION(input, output) call_with(elements(input), elements(output))
#endif

// Waits for everything that was started at `start_ns`, and returns what it took.
double
wait_for_device(double start_ns)
{
	Bench &b = bench();
	gpu_check(GPU(GetLastError)(), "custom_kernel left an error");
	gpu_check(GPU(EventRecord)(b.end, nullptr), "custom_kernel left an error");
	gpu_check(GPU(EventSynchronize)(b.end), "custom_kernel failed on the device");
	double seen_ns = now_ns();
	gpu_check(GPU(DeviceSynchronize)(), "custom_kernel failed on the device");
	double now = now_ns(), more = now - seen_ns, ns = elapsed_ns();
	ns += more > IDLE_NS ? more : 0;
	double host = now - start_ns;
	return std::max(host > 2 * ns + HOST_SLACK_NS ? host : ns, 1.0);
}

void
run_timed(const input_t &input, output_t &output, Call &call)
{
	try {
		double start_ns = now_ns();
		gpu_check(GPU(EventRecord)(bench().start, nullptr), "the device does not record events");
		SUBMISSION(input, output);
		call.ns = wait_for_device(start_ns);
	} catch (const GpuError &) {
		throw;
	} catch (const std::exception &e) {
		call.error = std::string("custom_kernel threw an exception: ") + e.what();
		(void)GPU(DeviceSynchronize)();
	}
	only_one_process();
}

void
run_call(Call &call, const Case &c, size_t times)
{
	gpu_check(GPU(SetDevice)(0), "the device cannot be used");
	Device<char> shift(times ? chance().below(MAX_SHIFT) * PAGE : 0);
	const input_t input = generate_input(c);
#ifdef KEEP_INPUT // where the same case may give another input
	const input_t kept = input;
#endif
	output_t output = make_output(input);
	flush_cache();
	long before = times_interrupted();
	if (times)
		run_calibrators(call, times);
	run_timed(input, output, call);
	call.disturbed = times_interrupted() != before;
	if (!call.error.empty())
		return;
	gpu_check(GPU(SetDevice)(0), "the device cannot be used");
	const output_t result = output; // at once: what is written later does not count
#ifndef KEEP_INPUT
	const input_t kept = generate_input(c);
#endif
	call.error = check_implementation(kept, result);
}

// The whole of one call. What fails before the submission was ever called is no fault of its.
Call
call_once(Case c, uint64_t seed, size_t times)
{
	static size_t called = 0;
	Call call;
	c.set_seed(seed);
	if (called == 0) {
		try {
			bench();
			make_output(generate_input(c));
			flush_cache();
		} catch (const GpuError &e) {
			throw MachineFault(e.what());
		}
	}
	called++;
	try {
		run_call(call, c, times);
	} catch (const GpuError &e) {
		if (is_of_machine(e.code))
			throw MachineFault(e.what());
		call.error = e.what();
		(void)GPU(GetLastError)();
		call.last = GPU(DeviceSynchronize)() != GPU(Success); // an error that stays: nothing runs on it any more
	}
	return call;
}

// ---- Profile ----

std::string
profile_of(const Case &c, std::string &ret_error)
{
	Call call = call_once(c, seed_of(c, 0));
	ret_error = call.error;
	if (!ret_error.empty())
		return "";
	const input_t input = generate_input(c);
	output_t output = make_output(input);
	flush_cache();
	RANGE_PUSH("custom_kernel");
	double start_ns = now_ns();
	try {
		run_timed(input, output, call);
	} catch (const GpuError &e) {
		call.error = e.what();
	}
	double host_ns = now_ns() - start_ns;
	RANGE_POP();
	ret_error = call.error;
	size_t free_bytes = 0, all_bytes = 0;
	(void)GPU(MemGetInfo)(&free_bytes, &all_bytes);
	std::ostringstream text;
	text << "case               " << c.text() << "\n"
		 << "device time        " << call.ns / NS_OF_MS << " ms\n"
		 << "host time          " << host_ns / NS_OF_MS << " ms\n"
		 << "cores              " << bench().cores << "\n"
		 << "cache              " << (bench().cache >> 10) << " KiB\n"
		 << "device memory      " << ((all_bytes - free_bytes) >> 20) << " of " << (all_bytes >> 20)
		 << " MiB in use, including the harness's\n";
	return text.str();
}

// Cleans a copy of the environment as take_over cleans the first: the constructor of a library, which runs before, makes one
// when it sets a variable.
EARLY void
clean_copy(char **env)
{
	char **entry = nullptr;
	uint64_t unused = 0;
	bool reports = environment_value(env, "POPCORN_FD", &entry);
	for (const char *name : {"KETTLE_CPU_CACHE", "KETTLE_TOKEN", "POPCORN_FD"})
		take_number(env, name, &unused);
	if (reports)
		set_threads(env);
}
} // namespace

// Takes over before any constructor of the object. Started by kettle-host the arguments of a DT_INIT are that program's own; the object's
// lie before the environment, as on the stack of any program.
extern "C" __attribute__((no_sanitize("address", "undefined", "thread"))) void
kettle_harness_start(int argc, char **argv, char **env)
{
	if (harness.ready)
		return;
	char **unused = nullptr;
	if (environment_value(env, "KETTLE_TOKEN", &unused))
		for (argc = 0, argv = env - 1; reinterpret_cast<long>(argv[-1]) != argc; argc++)
			argv--;
	take_over(argc, argv, argv + argc + 1);
	if (environ != argv + argc + 1)
		clean_copy(environ);
	// CUDA names its threads by files in /proc/self, which a process that is not dumpable may not open.
	if (harness.token)
		raw_syscall(SYS_prctl, PR_SET_DUMPABLE, 1, 0, 0);
}

int
main(int argc, char **argv)
{
	kettle_harness_start(argc, argv, environ); // where it is linked without -init
	run_harness(argv, [] {
		ask_for_secret();
		find_device();
	});
}
