// SPDX-License-Identifier: MIT
// The harness of C++ boards: started as `program <mode> <cases file>`, it checks and times the submission.
//
// For authors. A task brings three things besides this file and utils.h (tasks/vectoradd_cpp is an example):
//
//   task.h         what submission and reference share:
//                    using input_t = …; using output_t = …;         (values: a copy must be independent)
//                    void custom_kernel(const input_t &input, output_t &output);
//   reference.h    includes task.h and utils.h, and defines
//                    static input_t generate_input(const Case &c);  (everything from c: c.size("n"), c.seed() …)
//                    static output_t make_output(const input_t &);  (as the submission finds it; fill it with NaN)
//                    static std::string check_implementation(const input_t &, const output_t &);  ("" if right,
//                                                                    else a sentence for the participant)
//                  and, if it likes, #define BENCHMARK_SECONDS, RANKED_SECONDS (see below)
//   task.yml       config: {sources: [eval.cpp, submission.cpp]}
//
// The submission includes task.h and defines custom_kernel. Throw BadCase for a case that makes no sense.
//
// What it does. test: one call per case, checked. benchmark and leaderboard: a few calls to warm up, then timed calls
// until the time is known well enough or is over, but never before enough calls. Every call, also those that warm
// up, has fresh inputs (where the case has a seed) and an output of its own, starts with a cold cache, and is checked,
// outside of the timed section, against a copy of the inputs that was taken before: a submission gains nothing
// from noticing the phase, from keeping results, or from changing its input. profile: two calls per case and a report.
//
// How a time is made to repeat. What else a machine does slows calls down, by tens of percent and for milliseconds to
// minutes: neighbours on the same core, on the cache, on the memory. So right before each timed call, when the cache
// has been flushed, two fixed pieces of work are timed, in random order: arithmetic out of the first cache (`tile`) and
// reading memory that is in no cache (`read`), as often in a row as the call takes long. Both are calibrators, and so
// are both together (`both`). Each call gives a pair, the call's time and the calibrators'; a pair in which the
// scheduler took the core away is left out as long as a fifth of them remains. Of the three calibrators the one whose
// ratios to the calls spread least in this run is taken, `both` unless another one is clearly better: it suffers from
// what the submission suffers from.
//   ratio   the median of the ratios call/calibrator
//   mean    ratio × the time of the calibrator on the quiet device, which KETTLE_CALIBRATION gives
//           (NAME=NS NAME=NS …, measured by `kettle device calibrate`); without it, its median in this run
//   low, high   the 95 % interval of that median: the ratios 0.98·√n places to either side of it, or 2.36 standard
//           errors of the medians of eight parts of the time, whichever is wider
//   runs, raw-mean, std, err, best, worst   of the plain times of all calls
//   calibrator, calibrator-ns   the one taken, and its median in this run
//   calibrators   NAME=NS of all, each the time that a tenth of its times is below: about that of a quiet machine
// Addresses make a difference as well, and differ from process to process: whatever `new` gives begins a cache line, and
// inputs and outputs get other pages at every call, so that one run averages over what would else be its luck.
//
// What one process can do, and does, against a hostile submission. Before any constructor of the submission runs
// (.preinit_array), seed and channel are taken out of the environment and their bytes overwritten, the channel moves to
// a random descriptor, the process becomes non-dumpable (closes /proc/self/{mem,environ,maps,fd}), and the clock is
// looked up in the vDSO itself. Clock, results and the end use no symbol that a submission could define. `check` is
// written last, and the process ends there and then: whoever leaves earlier has not passed.
//
// What stays open in one process: the submission shares the address space. It can search memory for the seed, the copy
// of the inputs and the channel's number, undo the above by the same system calls, replace what the C++ library
// resolves at link time (members of std::vector), run still earlier (an ifunc), leave work to a thread,
// return before its output is complete as long as it wins the race with the copy of the output, and slow down the
// calibrators by threads that it leaves behind (a mean below half of the best call does not pass). Where that matters,
// use a harness with a referee and a solver.
#ifndef TASK_REFERENCE // eval_single.cpp includes this file and brings its own
#define TASK_REFERENCE "reference.h"
#endif
#include TASK_REFERENCE

#include <fcntl.h>
#ifdef __GLIBC__
#include <malloc.h>
#endif
#include <sched.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <iomanip>
#include <new>
#include <sstream>

// Limits, in seconds for each benchmark line, everything but warming up included. A task may set its own. How well a
// score repeats depends on the number of pairs, and that on the time: see docs/benchmarks.md.
#ifndef BENCHMARK_SECONDS
#define BENCHMARK_SECONDS 2.0
#endif
#ifndef RANKED_SECONDS
#define RANKED_SECONDS 6.0
#endif

// How many fresh inputs a test checks, how many calls warm up (threads started, pages touched, clock frequency up), and
// how many are timed (0: as many as it takes).
#ifndef TEST_CALLS
#define TEST_CALLS 1
#endif
#ifndef WARMUP_CALLS
#define WARMUP_CALLS 3
#endif
#ifndef TIMED_CALLS
#define TIMED_CALLS 0
#endif

extern "C" char **environ;

// Every object begins a cache line, wherever it lies: a vector instruction on memory that crosses lines takes up to twice
// as long, and which memory does would be the luck of each call. A submission that brings its own does not link.
void *
operator new(size_t size)
{
	constexpr size_t line = 64;
	void *memory = size < SIZE_MAX - line ? aligned_alloc(line, (size + line) / line * line) : nullptr;
	if (!memory)
		throw std::bad_alloc();
	return memory;
}
void
operator delete(void *memory) noexcept
{
	free(memory);
}
void
operator delete(void *memory, size_t) noexcept
{
	free(memory);
}

namespace
{
enum ExitStatus { PASSED = 0, USAGE = 2, NO_CHANNEL = 111, TEST_FAILED = 112, BAD_CASE = 113 };

// Fewer calls would let a lucky or a made-up streak of equal times end the measurement, and leave no interval: of ten
// pairs it reaches from the second to the ninth.
constexpr size_t BENCHMARK_MIN_CALLS = 10, RANKED_MIN_CALLS = 30, MAX_CALLS = 10000;
constexpr double NARROW = 0.001;     // half of the interval, of the mean: enough
constexpr size_t MAX_MESSAGE = 4000; // bytes of a message to the participant
constexpr size_t CACHE_LINE = 64, PAGE = 4096;
constexpr size_t MAX_CALIBRATION = 1000; // bytes of KETTLE_CALIBRATION
constexpr size_t MAX_SHIFT = 256;        // pages by which addresses differ from call to call

// ---- Before everything else: plain code, no library that needs to be initialised ----

struct Harness {
	bool ready = false;
	int channel = -1;
	bool has_secret = false;
	uint64_t secret = 0;
	clock_function clock = nullptr;
	size_t cores = 1;
	char calibration[MAX_CALIBRATION + 1] = {};
};
Harness harness; // constant-initialised: nothing resets it after take_over

EARLY long
raw_syscall(long number, long a, long b, long c)
{
#if defined(__x86_64__)
	long result;
	__asm__ volatile("syscall" : "=a"(result) : "a"(number), "D"(a), "S"(b), "d"(c) : "rcx", "r11", "memory");
	return result;
#elif defined(__aarch64__)
	register long x8 __asm__("x8") = number;
	register long x0 __asm__("x0") = a;
	register long x1 __asm__("x1") = b;
	register long x2 __asm__("x2") = c;
	__asm__ volatile("svc 0" : "+r"(x0) : "r"(x8), "r"(x1), "r"(x2) : "memory");
	return x0;
#else
	long result = syscall(number, a, b, c);
	return result < 0 ? -errno : result;
#endif
}

// The value behind `name` in the environment, and the entry's place in *ret_entry; NULL if there is none.
EARLY char *
environment_value(char **env, const char *name, char ***ret_entry)
{
	for (; *env; env++) {
		char *at = *env;
		const char *wanted = name;
		while (*wanted && *at == *wanted)
			at++, wanted++;
		if (!*wanted && *at == '=') {
			*ret_entry = env;
			return at + 1;
		}
	}
	return nullptr;
}

// Takes a decimal number out of the environment and leaves no trace of it there.
EARLY bool
take_number(char **env, const char *name, uint64_t *ret_number)
{
	char **entry = nullptr;
	char *value = environment_value(env, name, &entry);
	if (!value)
		return false;
	uint64_t number = 0;
	bool valid = *value != 0;
	for (; *value; value++) {
		valid = valid && *value >= '0' && *value <= '9';
		number = number * 10 + static_cast<uint64_t>(*value - '0');
		*const_cast<volatile char *>(value) = 'x';
	}
	for (; *entry; entry++)
		entry[0] = entry[1];
	if (valid)
		*ret_number = number;
	return valid;
}

// Moves the channel to a descriptor that nobody can name in advance; the standard ones stay where they are.
EARLY int
hide_channel(int fd)
{
	uint32_t random = 0;
	raw_syscall(SYS_getrandom, reinterpret_cast<long>(&random), sizeof(random), 0);
	for (int floor : {512, 128, 32}) { // as the limit of open files allows
		long hidden = raw_syscall(SYS_fcntl, fd, F_DUPFD_CLOEXEC, floor + static_cast<long>(random % floor));
		if (hidden < 0)
			continue;
		if (fd > STDERR_FILENO)
			raw_syscall(SYS_close, fd, 0, 0);
		return static_cast<int>(hidden);
	}
	return raw_syscall(SYS_fcntl, fd, F_SETFD, FD_CLOEXEC) < 0 ? -1 : fd;
}

// OpenMP and the like: as many threads as cores we may run on, unless somebody has said otherwise. Goes to the place
// in the environment that the channel's variable has left.
EARLY void
set_threads(char **env)
{
	static char setting[] = "OMP_NUM_THREADS=\0\0\0\0";
	unsigned long mask[128] = {}; // 8192 cores
	long bytes = raw_syscall(SYS_sched_getaffinity, 0, sizeof(mask), reinterpret_cast<long>(mask));
	size_t cores = 0;
	for (long i = 0; i < bytes / static_cast<long>(sizeof(mask[0])); i++)
		cores += static_cast<size_t>(__builtin_popcountl(mask[i]));
	harness.cores = cores ? cores : 1;
	char **entry = nullptr;
	if (environment_value(env, "OMP_NUM_THREADS", &entry))
		return;
	char *digit = setting + sizeof("OMP_NUM_THREADS=") - 1;
	for (size_t unit = 1000, rest = harness.cores; unit > 0; unit /= 10)
		if (rest >= unit || unit == 1)
			*digit++ = static_cast<char>('0' + rest / unit % 10);
	while (*env)
		env++;
	*env = setting; // take_number has left a place behind the last entry
	env[1] = nullptr;
}

EARLY void
take_over(int argc, char **argv, char **env)
{
	if (harness.ready)
		return;
	harness.ready = true;
	char **end = env;
	while (*end)
		end++;
	const ElfW(auxv_t) *aux = reinterpret_cast<const ElfW(auxv_t) *>(end + 1);
	for (; aux->a_type != AT_NULL; aux++)
		if (aux->a_type == AT_SYSINFO_EHDR)
			harness.clock = vdso_clock(reinterpret_cast<const unsigned char *>(aux->a_un.a_val));
	char **unused = nullptr;
	const char *calibration = environment_value(env, "KETTLE_CALIBRATION", &unused);
	for (size_t i = 0; calibration && calibration[i] && i < MAX_CALIBRATION; i++)
		harness.calibration[i] = calibration[i];
	harness.has_secret = take_number(env, "POPCORN_SEED", &harness.secret);
	uint64_t fd = 0;
	if (take_number(env, "POPCORN_FD", &fd) && fd < 1u << 30) {
		harness.channel = hide_channel(static_cast<int>(fd));
		set_threads(env);
	}
	// A profiler must be able to look inside; there is no secret then.
	if (argc < 2 || !same_text(argv[1], "profile"))
		raw_syscall(SYS_prctl, PR_SET_DUMPABLE, 0, 0);
}

using start_function = void (*)(int, char **, char **);
__attribute__((section(".preinit_array"), used)) start_function run_first = take_over;

// ---- Clock, results, end ----

double
now_ns()
{
	struct timespec time = {};
	if (!harness.clock || harness.clock(CLOCK_MONOTONIC, &time) != 0)
		raw_syscall(SYS_clock_gettime, CLOCK_MONOTONIC, reinterpret_cast<long>(&time), 0);
	return static_cast<double>(time.tv_sec) * 1e9 + static_cast<double>(time.tv_nsec);
}

[[noreturn]] void
leave(int status)
{
	for (;;)
		raw_syscall(SYS_exit_group, status, 0, 0);
}

[[noreturn]] void
stop(int status, const std::string &why)
{
	std::cerr << "eval: " << why << std::endl;
	leave(status);
}

void
report(const std::string &key, const std::string &value)
{
	std::string line = key + ": " + on_one_line(value, MAX_MESSAGE) + "\n";
	const char *at = line.data();
	for (size_t left = line.size(); left > 0;) {
		long written = raw_syscall(SYS_write, harness.channel, reinterpret_cast<long>(at), static_cast<long>(left));
		if (written == -EINTR || written == -EAGAIN)
			continue;
		if (written <= 0)
			stop(TEST_FAILED, "the result channel is gone"); // it was there: somebody has closed it since
		at += written;
		left -= static_cast<size_t>(written);
	}
}

void
report(const std::string &key, double value)
{
	char text[64];
	snprintf(text, sizeof(text), "%.9g", value);
	report(key, std::string(text));
}

// ---- One call ----

void
barrier()
{
	__asm__ volatile("" ::: "memory");
}

struct Sweep {
	size_t bytes = 2 * cache_bytes();
	volatile unsigned char *memory = nullptr;
	Sweep()
	{
		void *mapped = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		if (mapped == MAP_FAILED)
			throw std::runtime_error("no memory to flush the cache with");
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

// A submission that forks and returns in both processes would let the child report too.
void
only_one_process()
{
	static const long self = raw_syscall(SYS_getpid, 0, 0, 0);
	if (raw_syscall(SYS_getpid, 0, 0, 0) != self)
		leave(TEST_FAILED);
}

// ---- Calibrators. Whoever changes what they do gives them other names. ----

// Code made for other instructions, or by a compiler that was told otherwise, is another calibrator.
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
enum Kind { TILE, READ, BOTH, KINDS };
constexpr const char *KIND_NAMES[KINDS] = {
	"cpu-c-1-tile" CODE FLAGS, "cpu-c-1-read" CODE FLAGS, "cpu-c-1-both" CODE FLAGS};
constexpr size_t READ_BYTES = 2u << 20; // about 0.1 ms
constexpr double CLEARLY = 0.75;        // of the spread of `both`: another one is better
constexpr size_t MAX_TIMES = 8;         // each of them in a row, at most

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

struct Call {
	double ns = 0;
	double calibrators[KINDS] = {}; // ns for one time each
	bool disturbed = false;         // the scheduler took the core away
	std::string error;              // "" if the output was right
};

Random &
chance()
{
	static uint64_t seed = 0;
	if (seed == 0)
		raw_syscall(SYS_getrandom, reinterpret_cast<long>(&seed), sizeof(seed), 0);
	static Random random(seed);
	return random;
}

void
run_calibrators(Call &call, size_t times)
{
	uint64_t random = chance().bits();
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

// How often a core was taken from the process so far.
long
times_interrupted()
{
	struct rusage usage = {};
	raw_syscall(SYS_getrusage, RUSAGE_SELF, reinterpret_cast<long>(&usage), 0);
	return usage.ru_nivcsw;
}

void
run_timed(const input_t &input, output_t &output, Call &call)
{
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
	only_one_process();
}

// The whole of one call: inputs, the calibrators (so often in a row; 0: not), the call, the check.
Call
call_once(Case c, uint64_t seed, size_t times = 0)
{
	c.set_seed(seed);
	std::vector<char> shift; // never touched: what is allocated next lies so much further on
	shift.reserve(times ? chance().below(MAX_SHIFT) * PAGE : 0);
	input_t input = generate_input(c);
	const input_t kept = input;
	output_t output = make_output(input);
	Call call;
	flush_cache();
	long before = times_interrupted();
	if (times)
		run_calibrators(call, times);
	run_timed(input, output, call);
	call.disturbed = times_interrupted() != before;
	if (!call.error.empty())
		return call;
	const output_t result = output; // at once: what is written later does not count
	call.error = check_implementation(kept, result);
	return call;
}

// The seed of the n-th call of a case: the case's own, then others that follow from it.
uint64_t
seed_of(const Case &c, size_t n)
{
	return n == 0 ? c.seed() : Random(c.seed() + n * 0x632be59bd9b4e019u).bits();
}

// ---- Measurement ----

// What KETTLE_CALIBRATION says of a name; 0: nothing.
double
reference_of(const std::string &name)
{
	std::istringstream words(harness.calibration);
	for (std::string word; words >> word;)
		if (word.compare(0, name.size() + 1, name + "=") == 0) {
			double ns = std::strtod(word.c_str() + name.size() + 1, nullptr);
			return is_finite(ns) && ns > 0 ? ns : 0;
		}
	return 0;
}

struct Estimate {
	double mean = 0, low = 0, high = 0, ratio = 0;
	Kind kind = BOTH;
	double medians[KINDS] = {}, quiet[KINDS] = {}; // of the calibrators
};

// Calls in which the scheduler took the core away are left out, as long as a fifth of them remains.
std::vector<const Call *>
undisturbed(const std::vector<Call> &all)
{
	std::vector<const Call *> calls, quiet;
	for (const Call &call : all) {
		calls.push_back(&call);
		if (!call.disturbed)
			quiet.push_back(&call);
	}
	return quiet.size() * 5 < all.size() ? calls : quiet;
}

Estimate
estimate(const std::vector<Call> &all)
{
	const std::vector<const Call *> calls = undisturbed(all);
	Estimate e;
	double least = 0;
	for (Kind kind : {BOTH, TILE, READ}) {
		std::vector<double> times, quotients;
		for (const Call *call : calls) {
			times.push_back(call->calibrators[kind]);
			quotients.push_back(call->ns / call->calibrators[kind]);
		}
		e.medians[kind] = Middle(times).median;
		std::sort(times.begin(), times.end());
		e.quiet[kind] = times[times.size() / 10];
		Middle ratio(quotients);
		if (kind != BOTH && ratio.spread >= least * (e.kind == BOTH ? CLEARLY : 1))
			continue;
		double reference = reference_of(KIND_NAMES[kind]), unit = reference > 0 ? reference : e.medians[kind];
		least = ratio.spread, e.kind = kind;
		e.ratio = ratio.median;
		e.mean = ratio.median * unit;
		e.low = ratio.low * unit;
		e.high = ratio.high * unit;
	}
	return e;
}

struct Rule {
	size_t min_calls;
	double seconds;
};

bool
enough(const Rule &rule, const std::vector<Call> &calls, double elapsed_ns)
{
	if (TIMED_CALLS || calls.size() < rule.min_calls)
		return TIMED_CALLS && calls.size() >= TIMED_CALLS;
	if (elapsed_ns >= rule.seconds * 1e9 || calls.size() >= MAX_CALLS)
		return true;
	Estimate e = estimate(calls);
	return e.high - e.low < 2 * NARROW * e.mean;
}

// Returns "" and fills `calls`, or says what was wrong.
std::string
measure(const Case &c, const Rule &rule, std::vector<Call> &calls)
{
	double start = 0;
	size_t times = 1;
	for (size_t n = 0;; n++) {
		if (n == WARMUP_CALLS)
			start = now_ns();
		Call call = call_once(c, seed_of(c, n), times);
		if (!call.error.empty())
			return call.error + (n ? " (call " + std::to_string(n + 1) + ", with fresh inputs)" : "");
		if (n >= WARMUP_CALLS)
			calls.push_back(call);
		else
			times = static_cast<size_t>(
				std::min(std::max(call.ns / call.calibrators[BOTH], 1.0), static_cast<double>(MAX_TIMES)));
		if (n >= WARMUP_CALLS && enough(rule, calls, now_ns() - start))
			return "";
	}
}

void
report_times(const std::string &prefix, const std::vector<Call> &calls)
{
	std::vector<double> raw;
	for (const Call &call : calls)
		raw.push_back(call.ns);
	Statistics s = statistics_of(raw);
	Estimate e = estimate(calls);
	std::ostringstream calibrators;
	for (size_t kind = 0; kind < KINDS; kind++)
		calibrators << (kind ? " " : "") << KIND_NAMES[kind] << "=" << std::fixed << std::setprecision(1)
					<< e.quiet[kind];
	report(prefix + "runs", std::to_string(s.runs));
	report(prefix + "mean", e.mean);
	report(prefix + "low", e.low);
	report(prefix + "high", e.high);
	report(prefix + "ratio", e.ratio);
	report(prefix + "calibrator", KIND_NAMES[e.kind]);
	report(prefix + "calibrator-ns", e.medians[e.kind]);
	report(prefix + "calibrators", calibrators.str());
	report(prefix + "raw-mean", s.mean);
	report(prefix + "std", s.std);
	report(prefix + "err", s.err);
	report(prefix + "best", s.best);
	report(prefix + "worst", s.worst);
#ifdef PRINT_SCORE
	std::cout << "score:" << e.mean / 1e9 << std::endl;
#endif
}

// ---- Modes: each returns whether everything was right ----

bool
run_tests(const std::vector<Case> &cases)
{
	report("test-count", std::to_string(cases.size()));
	bool passed = true;
	for (size_t i = 0; i < cases.size(); i++) {
		std::string prefix = "test." + std::to_string(i) + ".";
		report(prefix + "spec", cases[i].text());
		Call call;
		for (size_t n = 0; n < TEST_CALLS && call.error.empty(); n++)
			call = call_once(cases[i], seed_of(cases[i], n));
		report(prefix + "status", call.error.empty() ? "pass" : "fail");
		if (!call.error.empty())
			report(prefix + "error", call.error);
		passed = passed && call.error.empty();
	}
	return passed;
}

bool
run_benchmarks(const std::vector<Case> &cases, const Rule &rule)
{
	report("benchmark-count", std::to_string(cases.size()));
	bool passed = true;
	for (size_t i = 0; i < cases.size(); i++) {
		std::string prefix = "benchmark." + std::to_string(i) + ".";
		report(prefix + "spec", cases[i].text());
		std::vector<Call> calls;
		std::string error = measure(cases[i], rule, calls);
		report(prefix + "status", error.empty() ? "pass" : "fail");
		if (error.empty())
			report_times(prefix, calls);
		else
			report(prefix + "error", error);
		passed = passed && error.empty();
	}
	return passed;
}

double
seconds_of(const struct timeval &time)
{
	return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / 1e6;
}

// What the kernel of the machine counted during a warm call.
std::string
profile_of(const Case &c, std::string &ret_error)
{
	ret_error = call_once(c, seed_of(c, 0)).error;
	if (!ret_error.empty())
		return "";
	input_t input = generate_input(c);
	output_t output = make_output(input);
	Call call;
	struct rusage before = {}, after = {};
	flush_cache();
	getrusage(RUSAGE_SELF, &before);
	run_timed(input, output, call);
	getrusage(RUSAGE_SELF, &after);
	ret_error = call.error;
	double cpu = seconds_of(after.ru_utime) - seconds_of(before.ru_utime);
	double kernel = seconds_of(after.ru_stime) - seconds_of(before.ru_stime);
	std::ostringstream text;
	text << "case               " << c.text() << "\n"
		 << "wall time          " << call.ns / 1e6 << " ms\n"
		 << "CPU time, user     " << cpu * 1e3 << " ms\n"
		 << "CPU time, kernel   " << kernel * 1e3 << " ms\n"
		 << "cores in use       " << (call.ns > 0 ? (cpu + kernel) * 1e9 / call.ns : 0) << " of " << harness.cores
		 << "\n"
		 << "page faults        " << after.ru_minflt - before.ru_minflt << "\n"
		 << "waited (switches)  " << after.ru_nvcsw - before.ru_nvcsw << "\n"
		 << "was interrupted    " << after.ru_nivcsw - before.ru_nivcsw << "\n"
		 << "peak memory        " << after.ru_maxrss / 1024 << " MiB (whole process)\n";
	return text.str();
}

bool
run_profile(const std::vector<Case> &cases)
{
	report("benchmark-count", std::to_string(cases.size()));
	bool passed = true;
	for (size_t i = 0; i < cases.size(); i++) {
		std::string prefix = "benchmark." + std::to_string(i) + ".", error;
		report(prefix + "spec", cases[i].text());
		std::string text = profile_of(cases[i], error);
		report(prefix + "status", error.empty() ? "pass" : "fail");
		report(prefix + (error.empty() ? "report" : "error"), error.empty() ? field_base64(text) : error);
		passed = passed && error.empty();
	}
	return passed;
}

// ---- Start ----

std::vector<Case>
read_cases(const char *path)
{
	std::ifstream file(path);
	if (!file)
		throw BadCase(std::string("cannot read the cases file ") + path);
	std::vector<Case> cases;
	for (std::string line; std::getline(file, line);) {
		if (line.find_first_not_of(" \t\r") == std::string::npos)
			continue;
		Case c(line);
		if (harness.has_secret && c.has("seed")) {
			uint64_t sum = c.seed() + harness.secret; // of two 31-bit numbers: no overflow below
			c.set_seed(c.seed() + sum * (sum + 1) / 2);
		}
		cases.push_back(c);
	}
	if (cases.empty())
		throw BadCase(std::string("there is no case in ") + path);
	return cases;
}

bool
run_mode(const std::string &mode, const char *cases_path)
{
	std::vector<Case> cases = read_cases(cases_path);
	if (mode == "test")
		return run_tests(cases);
	if (mode == "benchmark")
		return run_benchmarks(cases, Rule{BENCHMARK_MIN_CALLS, BENCHMARK_SECONDS});
	if (mode == "leaderboard")
		return run_benchmarks(cases, Rule{RANKED_MIN_CALLS, RANKED_SECONDS});
	return run_profile(cases);
}
} // namespace

int
main(int argc, char **argv)
{
	take_over(argc, argv, environ); // where the C library knows no .preinit_array
	static const char *const modes[] = {"test", "benchmark", "leaderboard", "profile"};
	if (argc != 3 ||
		std::none_of(std::begin(modes), std::end(modes), [&](const char *mode) { return same_text(argv[1], mode); }))
		stop(USAGE, "usage: POPCORN_FD=N program test|benchmark|leaderboard|profile CASES");
	if (harness.channel < 0)
		stop(NO_CHANNEL, "POPCORN_FD must name the open descriptor of the result channel");
	only_one_process();
#ifdef __GLIBC__
	// Memory once touched is used again: without that every call pays for fresh pages, which is most of the time here.
	mallopt(M_MMAP_THRESHOLD, 1 << 30);
	mallopt(M_TRIM_THRESHOLD, 1 << 30);
#endif
	bool passed = false;
	try {
		passed = run_mode(argv[1], argv[2]);
	} catch (const std::exception &e) {
		stop(BAD_CASE, e.what());
	}
	std::cout.flush();
	fflush(nullptr); // what the submission printed; what follows is the last that this process does
	report("check", passed ? "pass" : "fail");
	leave(passed ? PASSED : TEST_FAILED);
}
