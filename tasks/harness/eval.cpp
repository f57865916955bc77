// SPDX-License-Identifier: MIT
// kettle-reports: complete
// The harness of C++ boards: started as `program <mode> <cases file>`, it checks and times the submission.
//
// For authors. A task brings three things besides this file, harness.h and utils.h (tasks/vectoradd_cpp is an example):
//
//   task.h         what submission and reference share:
//                    using input_t = …; using output_t = …;         (values: a copy must be independent)
//                    void custom_kernel(const input_t &input, output_t &output);
//   reference.h    includes task.h and utils.h, and defines
//                    static input_t generate_input(const Case &c);  (everything from c: c.size("n"), c.seed() …)
//                    static output_t make_output(const input_t &);  (as the submission finds it; fill it with NaN)
//                    static std::string check_implementation(const input_t &, const output_t &);  ("" if right,
//                                                                    else a sentence for the participant)
//                  and, if it likes, #define BENCHMARK_SECONDS, RANKED_SECONDS, TASK_CALIBRATOR (see below)
//   task.yml       config: {sources: [eval.cpp, submission.cpp]}
//
// The submission includes task.h and defines custom_kernel. Throw BadCase for a case that makes no sense.
//
// What it does. test: one call per case, checked. benchmark and leaderboard: a few calls to warm up, then timed calls
// until the time is known well enough or is over, but never before enough calls. Every call, also those that warm
// up, has fresh inputs (where the case has a seed) and an output of its own, starts with a cold cache, and is checked,
// outside of the timed section, against a copy of the inputs that was taken before: a submission gains nothing
// from noticing the phase, from keeping results, or from changing its input. profile: two calls per case and a report,
// and under a profiler a second of calls more, of which it is shown custom_kernel alone.
//
// How a time is made to repeat. What else a machine does slows calls down, by tens of percent and for milliseconds to
// minutes: neighbours on the same core, on the cache, on the memory. So right before each timed call, when the cache
// has been flushed, two fixed pieces of work are timed, in random order: arithmetic out of the first cache (`tile`) and
// reading memory that is in no cache (`read`), as often in a row as the call takes long. Both are calibrators, and so
// are both together (`both`). Each call gives a pair, the call's time and the calibrators'; a pair in which the
// scheduler took the core away is left out as long as a fifth of them remains. `both` is taken, always: it suffers from what
// the submission suffers from, and which one is taken must not depend on the submission.
//
// Similar work is slowed down in a similar way, and a kernel compared with similar code repeats much better than one
// compared with `both` (docs/benchmarks.md). So a task may bring a calibrator of its own,
// `#define TASK_CALIBRATOR name` for a function of custom_kernel's form, built like a good submission. It works on
// another input of the same case, before or after the call at random, and which memory each gets is random too. It is taken, always, where its
// time on the quiet device is known (`own`, a name for each case), and measured beside the others where it is not. What
// a call touches is then put out of the caches line by line, and the whole cache is flushed at every SWEEP_EVERY-th
// call: time for many more pairs.
//
//   ratio   the median of the ratios call/calibrator
//   mean    ratio × the time of the calibrator on the quiet device, which KETTLE_CALIBRATION gives
//           (NAME=NS NAME=NS …, measured by `kettle device calibrate`); without it, its median in this run
//   low, high   the 95 % interval of that median: the ratios 0.98·√n places to either side of it, or 2.36 standard
//           errors of the medians of eight parts of the time, whichever is wider; and, added in squares, what runs differ
//           by that a run cannot see of itself, where KETTLE_CALIBRATION gives it (NAME=NS:PART)
//   runs, raw-mean, std, err, best, worst   of the plain times of all calls
//   calibrator, calibrator-ns   the one taken, and its median in this run
//   calibrated                  yes or no: whether its time on the quiet device is known
//   calibrators   NAME=NS of all, each the time that a tenth of its times is below: about that of a quiet machine
//   ratios   NAME=RATIO of all
// Addresses make a difference as well, and differ from process to process: whatever `new` gives begins a cache line, and
// inputs and outputs get other pages at every call, so that one run averages over their effect.
//
// What one process can do, and does, against a hostile submission. Before any constructor of the submission runs
// (.preinit_array), seed and channel are taken out of the environment and their bytes overwritten, the channel moves to
// a random descriptor, the process becomes non-dumpable (closes /proc/self/{mem,environ,maps,fd}), and the clock is
// looked up in the vDSO itself. Clock, results and the end use no symbol that a submission could define. `check` is
// written last, and the process ends at once: a submission that ends it earlier does not pass.
//
// What stays open in one process: the submission shares the address space. It can search memory for the seed, the copy
// of the inputs and the channel's number, undo the above by the same system calls, replace what the C++ library
// resolves at link time (members of std::vector), run still earlier (an ifunc), leave work to a thread,
// return before its output is complete as long as it wins the race with the copy of the output, and slow down the
// calibrators by threads that it leaves behind (a mean below half of the best call does not pass). Where that matters,
// use a harness with a referee and a solver.
#ifndef TASK_REFERENCE // eval_single.cpp includes this file and defines its own
#define TASK_REFERENCE "reference.h"
#endif
#include TASK_REFERENCE

// Code for other instructions, or compiled with other flags, is another calibrator.
#if defined(__AVX2__) && defined(__FMA__)
#define CODE "-avx2"
#else
#define CODE ""
#endif
#if !defined(__OPTIMIZE__) || defined(__FAST_MATH__) || defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define FLAGS "-flags"
#else
#define FLAGS ""
#endif
#define CALIBRATOR "cpu-c-1"
#define CALIBRATOR_CODE CODE FLAGS
#include "harness.h"

#if defined(__x86_64__)
#include <emmintrin.h>
#endif
#include <sys/mman.h>

#include <algorithm>
#include <memory>
#include <new>

// The blocks that `new` has allocated since it was opened and that are not freed: the memory of inputs and outputs.
struct Blocks {
	struct Block {
		void *memory;
		size_t bytes;
	};
	static constexpr size_t MOST = 256;
	bool open = false;
	size_t count = 0; // above MOST: not all of them are known
	Block all[MOST] = {};

	void add(void *memory, size_t bytes)
	{
		if (count < MOST)
			all[count] = {memory, bytes};
		count++;
	}
	void remove(const void *memory)
	{
		for (size_t i = 0; i < count && i < MOST; i++)
			if (all[i].memory == memory)
				all[i].bytes = 0;
	}
};
static thread_local Blocks blocks;

// Every object begins a cache line, wherever it lies: a vector instruction on memory that crosses lines takes up to twice
// as long, and which memory does would be the luck of each call. What a
// submission brings of its own is for itself alone.
void *
operator new(size_t size)
{
	constexpr size_t line = 64;
	void *memory = size < SIZE_MAX - line ? aligned_alloc(line, (size + line) / line * line) : nullptr;
	if (!memory)
		throw std::bad_alloc();
	if (blocks.open)
		blocks.add(memory, size);
	return memory;
}
#ifdef __cpp_aligned_new
void *
operator new(size_t size, std::align_val_t align)
{
	size_t unit = std::max(static_cast<size_t>(align), size_t{64});
	void *memory = size < SIZE_MAX - unit ? aligned_alloc(unit, (size + unit) / unit * unit) : nullptr;
	if (!memory)
		throw std::bad_alloc();
	if (blocks.open)
		blocks.add(memory, size);
	return memory;
}
void
operator delete(void *memory, std::align_val_t) noexcept
{
	operator delete(memory);
}
void
operator delete(void *memory, size_t, std::align_val_t) noexcept
{
	operator delete(memory);
}
#endif
void
operator delete(void *memory) noexcept
{
	if (blocks.open)
		blocks.remove(memory);
	free(memory);
}
void
operator delete(void *memory, size_t) noexcept
{
	operator delete(memory);
}

namespace
{
constexpr size_t CACHE_LINE = 64, PAGE = 4096;
constexpr uint64_t LEAST_CACHE = 4u << 20; // the calibrators need as much
constexpr size_t MAX_SHIFT = 256;          // pages by which addresses differ from call to call
constexpr size_t SWEEP_EVERY = 16;         // calls that are compared with the task's own calibrator
constexpr size_t SWEEP_PARTS = 16; // more than such a part of the sweep, and the sweep is quicker than line by line

__attribute__((section(".preinit_array"), used)) void (*run_first)(int, char **, char **) = take_over;

// ---- One call ----

void
barrier()
{
	__asm__ volatile("" ::: "memory");
}

struct Sweep {
	size_t bytes = 2 * static_cast<size_t>(std::max(harness.cache, LEAST_CACHE));
	volatile unsigned char *memory = nullptr;
	Sweep()
	{
		void *mapped = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		if (mapped == MAP_FAILED)
			throw std::runtime_error("no memory to flush the cache");
		madvise(mapped, bytes, MADV_HUGEPAGE);
		memory = static_cast<volatile unsigned char *>(mapped);
	}
};

const Sweep &
sweep()
{
	static const Sweep sweep;
	return sweep;
}

// Writes a word in every line: plain stores that each claim their line. (memset may stream past the cache.)
void
flush_cache()
{
	static unsigned char value = 0;
	const Sweep &all = sweep();
	value++;
	for (size_t i = 0; i < all.bytes; i += CACHE_LINE)
		all.memory[i] = value;
}

// Puts the blocks that are known out of all caches, which is much less work than to sweep them; false: it cannot.
bool
flush_blocks()
{
#if defined(__x86_64__)
	size_t bytes = 0;
	for (size_t i = 0; i < blocks.count && i < Blocks::MOST; i++)
		bytes += blocks.all[i].bytes;
	if (bytes == 0 || blocks.count > Blocks::MOST || bytes > sweep().bytes / SWEEP_PARTS)
		return false;
	for (size_t i = 0; i < blocks.count; i++)
		for (size_t at = 0; at < blocks.all[i].bytes; at += CACHE_LINE)
			_mm_clflush(static_cast<const char *>(blocks.all[i].memory) + at);
	_mm_mfence();
	return true;
#else
	return false;
#endif
}

// ---- Calibrators. A change of what they do needs other names. ----

constexpr size_t READ_BYTES = 2u << 20;                             // about 0.1 ms
constexpr size_t TILE_ROWS = 4, TILE_DEPTH = 64, TILE_PASSES = 900; // about 0.1 ms
typedef float lanes __attribute__((vector_size(32)));
alignas(4096) float tile_memory[TILE_DEPTH * (TILE_ROWS + 2 * 8)];
volatile double sink;

// A block of a matrix product out of the first cache: as much arithmetic as the core can do.
__attribute__((noinline)) void
work_tile(size_t times)
{
	lanes sums[TILE_ROWS][2] = {};
	for (size_t pass = 0; pass < TILE_PASSES * times; pass++) {
		const float *at = tile_memory;
		for (size_t p = 0; p < TILE_DEPTH; p++, at += TILE_ROWS + 16) {
			lanes left, right;
			memcpy(&left, at + TILE_ROWS, sizeof(left));
			memcpy(&right, at + TILE_ROWS + 8, sizeof(right));
			for (size_t row = 0; row < TILE_ROWS; row++) {
				sums[row][0] += at[row] * left;
				sums[row][1] += at[row] * right;
			}
		}
		__asm__ volatile("" ::: "memory");
	}
	double sum = 0;
	for (const auto &row : sums)
		sum += static_cast<double>(row[0][0] + row[1][7]);
	sink = sum;
}

// Memory in order, from the half of the sweep that its end has put out of the cache.
__attribute__((noinline)) void
work_read(size_t times, uint64_t random)
{
	const Sweep &all = sweep();
	size_t half = all.bytes / 2, at = random % half / CACHE_LINE * CACHE_LINE;
	uint64_t sum = 0;
	for (size_t left = READ_BYTES * times; left > 0; left -= CACHE_LINE) {
		sum += all.memory[at];
		at = at + CACHE_LINE < half ? at + CACHE_LINE : 0;
	}
	sink = static_cast<double>(sum);
}

// The processor as a program finds it when it starts, whatever a submission has left: how floating point rounds and what
// it does with small numbers, and no upper halves of vector registers that make other code slow.
void
plain_processor()
{
#if defined(__x86_64__)
	static const bool has_avx = __builtin_cpu_supports("avx");
	constexpr unsigned masked_exceptions = 0x1f80;
	_mm_setcsr(masked_exceptions);
	if (has_avx)
		__asm__ volatile("vzeroupper" ::: "memory");
#endif
}

void
run_calibrators(Call &call, size_t times)
{
	uint64_t random = chance().bits();
	plain_processor();
	for (size_t i = 0; i < 2; i++) {
		Kind kind = (random & 1) == i ? TILE : READ;
		barrier();
		double start = now_ns();
		barrier();
		kind == TILE ? work_tile(times) : work_read(times, random >> 1);
		barrier();
		call.calibrators[kind] = (now_ns() - start) / static_cast<double>(times);
	}
	call.calibrators[BOTH] = call.calibrators[TILE] + call.calibrators[READ];
}

void
run_timed(const input_t &input, output_t &output, Call &call)
{
	profiler().look(true);
	try {
		barrier();
		double start = now_ns();
		barrier();
		custom_kernel(input, output);
		barrier();
		call.ns = now_ns() - start;
	} catch (const std::exception &e) {
		call.error = std::string("custom_kernel threw an exception: ") + e.what();
	}
	profiler().look(false);
	only_one_process();
}

// What a kernel works on.
struct Set {
	input_t input;
	output_t output;
};

// The task's own calibrator, if it has one. Nothing reads its output.
#ifdef TASK_CALIBRATOR
constexpr bool HAS_OWN = true;
void
run_own(Set &set, Call &call)
{
	void (*volatile kernel)(const input_t &, output_t &) = TASK_CALIBRATOR;
	plain_processor();
	barrier();
	double start = now_ns();
	barrier();
	kernel(set.input, set.output);
	barrier();
	call.calibrators[OWN] = now_ns() - start;
}
#else
constexpr bool HAS_OWN = false;
void
run_own(Set &, Call &)
{
}
#endif

// The input that the task's own calibrator gets: of the same case with another seed, so that its output, which
// stays in memory, is right for no call of the submission.
input_t
input_of_own(Case c, uint64_t seed)
{
	c.set_seed(Random(~seed).bits());
	return generate_input(c);
}

// A set for each input, the memory of which is what `blocks` knows.
std::vector<Set>
make_sets(const std::vector<const input_t *> &inputs)
{
	blocks.count = 0;
	blocks.open = true;
	std::vector<Set> sets;
	sets.reserve(inputs.size());
	for (const input_t *input : inputs)
		sets.push_back(Set{*input, make_output(*input)});
	blocks.open = false;
	return sets;
}

// The caches without what the call needs, and what the fixed calibrators take then. Where it is the task's own one that
// counts, the others are left out, and the whole cache is flushed now and then only: time for many more pairs.
void
prepare(const Case &c, size_t times, Call &call)
{
	static size_t calls = 0;
	bool own = HAS_OWN && times && reference_of(name_of(OWN, c)).ns > 0;
	if (!own || calls++ % SWEEP_EVERY == 0 || !flush_blocks())
		flush_cache();
	if (times && !own)
		run_calibrators(call, times);
}

// The whole of one call: inputs, the calibrators (so often in a row; 0: not), the call, the check. Which memory is the
// submission's and which is the own calibrator's is drawn as well: it makes a difference of up to one per cent.
Call
call_once(Case c, uint64_t seed, size_t times)
{
	c.set_seed(seed);
	std::vector<char> shift; // never touched: what is allocated next lies so much further on
	shift.reserve(times ? chance().below(MAX_SHIFT) * PAGE : 0);
	const input_t kept = generate_input(c);
	const bool own = HAS_OWN && times, own_first = own && chance().below(2);
	const size_t at = own ? chance().below(2) : 0;
	std::vector<const input_t *> inputs(own ? 2 : 1, &kept);
	std::unique_ptr<input_t> other(own ? new input_t(input_of_own(c, seed)) : nullptr);
	if (own)
		inputs[1 - at] = other.get();
	std::vector<Set> sets = make_sets(inputs);
	Set &ours = sets[at], &others = sets[own ? 1 - at : at];
	Call call;
	prepare(c, times, call);
	long before = times_interrupted();
	if (own_first)
		run_own(others, call);
	run_timed(ours.input, ours.output, call);
	const output_t result = ours.output; // at once: what is written later does not count
	if (own && !own_first)
		run_own(others, call);
	call.disturbed = times_interrupted() != before;
	if (call.error.empty())
		call.error = check_implementation(kept, result);
	return call;
}

double
seconds_of(const struct timeval &time)
{
	return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / 1e6;
}

// What the kernel of the machine counted during warm calls, and how long these took by the clock.
struct Use {
	size_t calls = 0;
	double ns = 0, user = 0, kernel = 0; // seconds, but for the first
	double faults = 0, waits = 0, interrupted = 0;
	long peak = 0;
};

void
add_use(Use &use, const struct rusage &before, const struct rusage &after, double ns)
{
	use.calls++;
	use.ns += ns;
	use.user += seconds_of(after.ru_utime) - seconds_of(before.ru_utime);
	use.kernel += seconds_of(after.ru_stime) - seconds_of(before.ru_stime);
	use.faults += static_cast<double>(after.ru_minflt - before.ru_minflt);
	use.waits += static_cast<double>(after.ru_nvcsw - before.ru_nvcsw);
	use.interrupted += static_cast<double>(after.ru_nivcsw - before.ru_nivcsw);
	use.peak = after.ru_maxrss;
}

// Calls until they are long enough for the kernel's clock, which counts in ticks of up to 10 ms. Nothing but the call is
// between the two readings, which also are what wall and CPU time are of.
Use
use_of(const Case &c, std::string &ret_error)
{
	const double enough = 3e8, limit = 2e9; // ns: of the calls, and of all that is around them
	const double begin = now_ns();
	Use use;
	input_t input = generate_input(c);
	output_t output = make_output(input);
	while (use.calls == 0 || (use.ns < enough && now_ns() - begin < limit)) {
		struct rusage before = {}, after = {};
		flush_cache();
		barrier();
		getrusage(RUSAGE_SELF, &before);
		const double start = now_ns();
		try {
			custom_kernel(input, output);
		} catch (const std::exception &e) {
			ret_error = std::string("custom_kernel threw an exception: ") + e.what();
			return use;
		}
		const double ns = now_ns() - start;
		getrusage(RUSAGE_SELF, &after);
		add_use(use, before, after, ns);
	}
	return use;
}

std::string
profile_of(const Case &c, std::string &ret_error)
{
	profiler().look(false);
	ret_error = call_once(c, seed_of(c, 0)).error;
	if (!ret_error.empty())
		return "";
	calls_for_profiler([&](size_t n) { return call_once(c, seed_of(c, n)).ns; });
	const Use use = use_of(c, ret_error);
	const double calls = static_cast<double>(use.calls ? use.calls : 1);
	// A thread that runs elsewhere is counted up to its last tick, so a little more can be counted than there was time for.
	double busy = use.ns > 0 ? (use.user + use.kernel) * 1e9 / use.ns : 0;
	busy = std::min(busy, static_cast<double>(harness.cores));
	std::ostringstream text;
	text << "case               " << c.text() << "\n"
		 << "calls              " << use.calls << ", mean of all\n"
		 << "wall time          " << use.ns / calls / 1e6 << " ms\n"
		 << "CPU time, user     " << use.user / calls * 1e3 << " ms\n"
		 << "CPU time, kernel   " << use.kernel / calls * 1e3 << " ms\n"
		 << "cores in use       " << busy << " of " << harness.cores << "\n"
		 << "page faults        " << use.faults / calls << "\n"
		 << "waited (switches)  " << use.waits / calls << "\n"
		 << "interrupts         " << use.interrupted / calls << "\n"
		 << "peak memory        " << use.peak / 1024 << " MiB (whole process)\n";
	return text.str();
}
} // namespace

int
main(int argc, char **argv)
{
	take_over(argc, argv, environ); // where the C library knows no .preinit_array
	run_harness(argv, [] {});
}
