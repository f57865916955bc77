// SPDX-License-Identifier: MIT
// What the harnesses of compiled boards share: how a run starts, measures, reports and ends. eval.cpp (host) and eval.cu
// (CUDA and HIP) document in their first lines what a task defines and what a run does; they include this file, define
//
//   CALIBRATOR, CALIBRATOR_CODE   what the names of their calibrators begin and end with
//   Call call_once(Case c, uint64_t seed, size_t times)      the whole of one call, see below
//   std::string profile_of(const Case &c, std::string &ret_error)      a report on one call
//
// and call run_harness in main. Clock, results and end use raw system calls, which nothing that is linked replaces. Kettle
// links host C++ so that a submission replaces nothing else either; of other boards docs/tasks.md says what stays open.
#ifndef KETTLE_HARNESS_H
#define KETTLE_HARNESS_H

#include "utils.h"

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
#include <iomanip>
#include <iostream>
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

namespace
{
enum ExitStatus { PASSED = 0, USAGE = 2, MACHINE_FAULT = 110, NO_CHANNEL = 111, TEST_FAILED = 112, BAD_CASE = 113 };

// The machine or its driver has failed, no code of task or submission: the harness ends with status 110, and the run is
// tried again.
struct MachineFault : std::runtime_error {
	using std::runtime_error::runtime_error;
};

// With fewer calls a few equal times, by chance or forged, would end the measurement, and there would be no interval: of
// ten pairs it reaches from the second to the ninth.
constexpr size_t BENCHMARK_MIN_CALLS = 10, RANKED_MIN_CALLS = 30, MAX_CALLS = 10000;
constexpr double NARROW = 0.001;          // half of the interval, of the mean: enough
constexpr size_t LOOK_EVERY = 16;         // calls from one check of the interval to the next
constexpr size_t MAX_MESSAGE = 4000;      // bytes of a message to the participant
constexpr size_t MAX_CALIBRATION = 16000; // bytes of KETTLE_CALIBRATION
constexpr double MAX_SPREAD = 0.5;        // of runs, as part of a ratio

// ---- Before everything else: plain code, no library that needs to be initialised ----

struct Harness {
	bool ready = false;
	int channel = -1;
	uint64_t token = 0; // what each line of results begins with, where a supervisor reads them; 0: none does
	bool has_secret = false;
	uint64_t secret[2] = {};
	clock_function clock = nullptr;
	size_t cores = 1;
	uint64_t cache = 32u << 20;  // bytes that the processor's caches hold
	const char *mode = nullptr;  // a constant below; nullptr: not called as it should be
	const char *cases = nullptr; // the cases file
	size_t cases_size = 0;
	char calibration[MAX_CALIBRATION + 1] = {};
};
Harness harness; // constant-initialised: nothing resets it after take_over

EARLY long
raw_syscall(long number, long a, long b, long c, long d = 0, long e = 0, long f = 0)
{
#if defined(__x86_64__)
	long result;
	register long r10 __asm__("r10") = d;
	register long r8 __asm__("r8") = e;
	register long r9 __asm__("r9") = f;
	__asm__ volatile("syscall"
					 : "=a"(result)
					 : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
					 : "rcx", "r11", "memory");
	return result;
#elif defined(__aarch64__)
	register long x8 __asm__("x8") = number;
	register long x0 __asm__("x0") = a;
	register long x1 __asm__("x1") = b;
	register long x2 __asm__("x2") = c;
	register long x3 __asm__("x3") = d;
	register long x4 __asm__("x4") = e;
	register long x5 __asm__("x5") = f;
	__asm__ volatile("svc 0" : "+r"(x0) : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4), "r"(x5) : "memory");
	return x0;
#else
	long result = syscall(number, a, b, c, d, e, f);
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

// Takes 128 bits, as 32 hexadecimal digits, out of the environment and leaves no trace of them there.
EARLY bool
take_secret(char **env, const char *name, uint64_t (&ret_secret)[2])
{
	char **entry = nullptr;
	char *value = environment_value(env, name, &entry);
	if (!value)
		return false;
	uint64_t secret[2] = {};
	size_t count = 0;
	for (; *value; value++, count++) {
		unsigned digit = static_cast<unsigned>(*value <= '9' ? *value - '0' : *value - 'a' + 10);
		if (count < 32)
			secret[count / 16] = secret[count / 16] << 4 | (digit & 15);
		*const_cast<volatile char *>(value) = 'x';
	}
	for (; *entry; entry++)
		entry[0] = entry[1];
	for (size_t i = 0; i < 2 && count == 32; i++)
		ret_secret[i] = secret[i];
	return count == 32;
}

// Moves the channel to a random descriptor; the standard ones stay where they are.
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

// OpenMP and the like: as many threads as cores that this process may run on, unless the variable is set. It gets the
// entry of the environment that the channel's variable had.
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
	*env = setting; // take_number has left room behind the last entry
	env[1] = nullptr;
}

// The mode and the cases, which a constructor could change in argv, or by another working folder. What cannot be read
// here has no cases.
EARLY void
take_arguments(int argc, char **argv)
{
	static const char modes[][12] = {"test", "benchmark", "leaderboard", "profile"};
	if (argc != 3)
		return;
	for (const auto &mode : modes)
		if (same_text(argv[1], mode))
			harness.mode = mode;
	long fd = raw_syscall(SYS_openat, AT_FDCWD, reinterpret_cast<long>(argv[2]), O_RDONLY | O_CLOEXEC);
	long size = fd < 0 ? 0 : raw_syscall(SYS_lseek, fd, 0, SEEK_END);
	long mapped = size <= 0 ? -1 : raw_syscall(SYS_mmap, 0, size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (mapped > 0 || mapped < -4095) {
		harness.cases = reinterpret_cast<const char *>(mapped);
		harness.cases_size = static_cast<size_t>(size);
	}
	if (fd >= 0)
		raw_syscall(SYS_close, fd, 0, 0);
}

EARLY void
take_seed(char **env)
{
	uint64_t seed = 0;
	harness.has_secret = take_number(env, "POPCORN_SEED", &seed);
	harness.secret[0] = seed; // of an evaluator that gives nothing better
	harness.has_secret = take_secret(env, "KETTLE_SECRET", harness.secret) || harness.has_secret;
}

EARLY void
take_over(int argc, char **argv, char **env)
{
	if (harness.ready)
		return;
	harness.ready = true;
	take_arguments(argc, argv);
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
	take_number(env, "KETTLE_CPU_CACHE", &harness.cache);
	take_seed(env);
	take_number(env, "KETTLE_TOKEN", &harness.token);
	uint64_t fd = 0;
	if (take_number(env, "POPCORN_FD", &fd) && fd < 1u << 30) {
		harness.channel = hide_channel(static_cast<int>(fd));
		set_threads(env);
	}
	if (argc < 2 || !same_text(argv[1], "profile")) // a profiler must look inside; there is no secret then
		raw_syscall(SYS_prctl, PR_SET_DUMPABLE, 0, 0);
}

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

/* All of it, past the streams: a submission may have closed them, or have them throw. */
bool
write_all(int fd, const std::string &text)
{
	const char *at = text.data();
	for (size_t left = text.size(); left > 0;) {
		long written = raw_syscall(SYS_write, fd, reinterpret_cast<long>(at), static_cast<long>(left));
		if (written == -EINTR || written == -EAGAIN)
			continue;
		if (written <= 0)
			return false;
		at += written;
		left -= static_cast<size_t>(written);
	}
	return true;
}

/* What was printed, whatever the submission has made of the streams. */
void
flush_streams()
{
	try {
		std::cout.flush();
	} catch (...) {
	}
	fflush(nullptr);
}

[[noreturn]] void
stop(int status, const std::string &why)
{
	flush_streams();
	write_all(2, "eval: " + why + "\n");
	leave(status);
}

void
report(const std::string &key, const std::string &value)
{
	std::string line = key + ": " + on_one_line(value, MAX_MESSAGE) + "\n";
	if (harness.token)
		line.insert(0, reinterpret_cast<const char *>(&harness.token), sizeof(harness.token));
	if (!write_all(harness.channel, line))
		stop(TEST_FAILED, "the result channel is gone"); // it was open before, so the submission has closed it
}

void
report(const std::string &key, double value)
{
	char text[64];
	snprintf(text, sizeof(text), "%.9g", value);
	report(key, std::string(text));
}

// Why a case failed: what is wrong, and what its check said behind MORE.
void
report_error(const std::string &prefix, const std::string &error)
{
	size_t more = error.find(MORE);
	report(prefix + "error", error.substr(0, more));
	if (more != std::string::npos)
		report(prefix + "message", error.substr(more + 1));
}

// Ends the run for a fault that is not the submission's. The status alone counts for nothing: a submission can end the
// process with it as well.
[[noreturn]] void
blame(const char *whom, int status, const std::string &why)
{
	report("fault", std::string(whom));
	stop(status, why);
}

// A submission that forks and returns in both processes would let the child report too.
void
only_one_process()
{
	static const long self = raw_syscall(SYS_getpid, 0, 0, 0);
	if (raw_syscall(SYS_getpid, 0, 0, 0) != self)
		leave(TEST_FAILED);
}

// ---- Calibrators ----

// Two fixed pieces of work, one that computes and one that reads memory, and both together; and what a task brings of its
// own, which takes another time for each case.
enum Kind { TILE, READ, BOTH, OWN, KINDS };
constexpr const char *KIND_NAMES[KINDS] = {CALIBRATOR "-tile" CALIBRATOR_CODE, CALIBRATOR "-read" CALIBRATOR_CODE,
	CALIBRATOR "-both" CALIBRATOR_CODE, CALIBRATOR "-own" CALIBRATOR_CODE};
constexpr size_t MAX_TIMES = 8; // each of them in a row, at most

struct Call {
	double ns = 0, calibrators[KINDS] = {}; // of these for one time each; 0: there is none
	bool disturbed = false, last = false;   // the scheduler took the core away; nothing can be called any more
	std::string error;                      // "" if the output was right
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

// How often a core was taken from the process so far.
long
times_interrupted()
{
	struct rusage usage = {};
	raw_syscall(SYS_getrusage, RUSAGE_SELF, reinterpret_cast<long>(&usage), 0);
	return usage.ru_nivcsw;
}

uint64_t
rotated(uint64_t x, unsigned bits)
{
	return x << bits | x >> (64 - bits);
}

// SipHash-2-4 of two words: who does not know the key learns nothing of one value from all others.
uint64_t
keyed_hash(const uint64_t (&key)[2], uint64_t one, uint64_t other)
{
	uint64_t a = key[0] ^ 0x736f6d6570736575u, b = key[1] ^ 0x646f72616e646f6du, c = key[0] ^ 0x6c7967656e657261u,
			 d = key[1] ^ 0x7465646279746573u;
	auto rounds = [&](int count) {
		for (; count > 0; count--) {
			a += b, b = rotated(b, 13) ^ a, a = rotated(a, 32);
			c += d, d = rotated(d, 16) ^ c;
			a += d, d = rotated(d, 21) ^ a;
			c += b, b = rotated(b, 17) ^ c, c = rotated(c, 32);
		}
	};
	for (uint64_t word : {one, other, uint64_t{16} << 56}) { // the last one: 16 bytes, and no rest
		d ^= word;
		rounds(2);
		a ^= word;
	}
	c ^= 0xff;
	rounds(4);
	return a ^ b ^ c ^ d;
}

// The seed of the n-th call of a case: with a secret a hash under it, so that no input tells of another one; else the
// case's own, then others that follow from it.
uint64_t
seed_of(const Case &c, size_t n)
{
	if (harness.has_secret && c.has("seed"))
		return keyed_hash(harness.secret, c.seed(), n);
	return n == 0 ? c.seed() : Random(c.seed() + n * 0x632be59bd9b4e019u).bits();
}

// The harness's own: inputs, the calibrators (so often in a row; 0: not), the call, the check.
Call call_once(Case c, uint64_t seed, size_t times = 0);

// Defined by each harness: a report on a warm call, or the error.
std::string profile_of(const Case &c, std::string &ret_error);

// ---- Measurement ----

// FNV-1a.
uint32_t
hash_of(const std::string &text)
{
	uint32_t hash = 2166136261u;
	for (char c : text)
		hash = (hash ^ static_cast<unsigned char>(c)) * 16777619u;
	return hash;
}

// The name of a calibrator; a task's own has one for each case.
std::string
name_of(Kind kind, const Case &c)
{
	char end[16] = "";
	if (kind == OWN)
		snprintf(end, sizeof(end), "-%08x", static_cast<unsigned>(hash_of(c.text())));
	return std::string(KIND_NAMES[kind]) + end;
}

struct Reference {
	double ns = 0;     // on the quiet device
	double spread = 0; // what 95 % of runs are within, as part of the ratio
};

// The calibration of a name in KETTLE_CALIBRATION; 0: none.
Reference
reference_of(const std::string &name)
{
	std::istringstream words(harness.calibration);
	Reference found;
	for (std::string word; words >> word;)
		if (word.compare(0, name.size() + 1, name + "=") == 0) {
			char *end = nullptr;
			double ns = std::strtod(word.c_str() + name.size() + 1, &end);
			double spread = *end == ':' ? std::strtod(end + 1, nullptr) : 0;
			found.ns = is_finite(ns) && ns > 0 ? ns : 0;
			found.spread = is_finite(spread) && spread > 0 && spread <= MAX_SPREAD ? spread : 0;
			break;
		}
	return found;
}

struct Estimate {
	double mean = 0, low = 0, high = 0, ratio = 0;
	Kind kind = BOTH;
	double medians[KINDS] = {}, quiet[KINDS] = {}; // of the calibrators
	double ratios[KINDS] = {};                     // of the calls to them, the medians
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

// The calibrator that calls are compared with: a task's own where its time on the quiet device is known, else both. It is
// never chosen by what the calls took, since that is the submission's doing.
Kind
kind_of(const Case &c, const Call &call)
{
	return call.calibrators[OWN] > 0 && reference_of(name_of(OWN, c)).ns > 0 ? OWN : BOTH;
}

Estimate
estimate(const Case &c, const std::vector<Call> &all)
{
	const std::vector<const Call *> calls = undisturbed(all);
	Estimate e;
	e.kind = kind_of(c, all.front());
	for (Kind kind : {TILE, READ, BOTH, OWN}) {
		if (all.front().calibrators[kind] <= 0)
			continue;
		std::vector<double> times, quotients;
		for (const Call *call : calls) {
			times.push_back(call->calibrators[kind]);
			quotients.push_back(call->ns / call->calibrators[kind]);
		}
		e.medians[kind] = Middle(times).median;
		std::sort(times.begin(), times.end());
		e.quiet[kind] = times[times.size() / 10];
		Middle ratio(quotients);
		e.ratios[kind] = ratio.median;
		if (kind != e.kind)
			continue;
		double reference = reference_of(name_of(kind, c)).ns, unit = reference > 0 ? reference : e.medians[kind];
		e.ratio = ratio.median;
		e.mean = ratio.median * unit;
		e.low = ratio.low * unit;
		e.high = ratio.high * unit;
	}
	return e;
}

// The interval of another run of the same: what this one cannot see of itself, and the device's calibration has seen, is
// added in squares.
void
widen(const Case &c, Estimate &e)
{
	double unseen = reference_of(name_of(e.kind, c)).spread * e.mean;
	e.low = std::max(e.mean - std::hypot(e.mean - e.low, unseen), e.low / 2);
	e.high = e.mean + std::hypot(e.high - e.mean, unseen);
}

struct Rule {
	size_t min_calls;
	double seconds;
};

bool
enough(const Case &c, const Rule &rule, const std::vector<Call> &calls, double elapsed_ns)
{
	if (TIMED_CALLS || calls.size() < rule.min_calls)
		return TIMED_CALLS && calls.size() >= TIMED_CALLS;
	if (elapsed_ns >= rule.seconds * 1e9 || calls.size() >= MAX_CALLS)
		return true;
	if (calls.size() % LOOK_EVERY != 0)
		return false;
	Estimate e = estimate(c, calls);
	return e.high - e.low < 2 * NARROW * e.mean;
}

// Fills `calls`, and returns the last one: its error says what was wrong.
Call
measure(const Case &c, const Rule &rule, std::vector<Call> &calls)
{
	double start = 0;
	size_t times = 1;
	for (size_t n = 0;; n++) {
		if (n == WARMUP_CALLS)
			start = now_ns();
		Call call = call_once(c, seed_of(c, n), times);
		if (!call.error.empty()) {
			if (n)
				call.error.insert(std::min(call.error.find(MORE), call.error.size()),
					" (call " + std::to_string(n + 1) + ", with fresh inputs)");
			return call;
		}
		if (n >= WARMUP_CALLS)
			calls.push_back(call);
		else if (call.calibrators[OWN] <= 0)
			times = static_cast<size_t>(
				std::min(std::max(call.ns / call.calibrators[BOTH], 1.0), static_cast<double>(MAX_TIMES)));
		if (n >= WARMUP_CALLS && enough(c, rule, calls, now_ns() - start))
			return call;
	}
}

void
report_times(const Case &c, const std::string &prefix, const std::vector<Call> &calls)
{
	std::vector<double> raw;
	for (const Call &call : calls)
		raw.push_back(call.ns);
	Statistics s = statistics_of(raw);
	Estimate e = estimate(c, calls);
	widen(c, e);
	std::ostringstream calibrators, ratios;
	const char *space = "";
	for (Kind kind : {TILE, READ, BOTH, OWN}) {
		if (e.medians[kind] <= 0)
			continue;
		calibrators << space << name_of(kind, c) << "=" << std::fixed << std::setprecision(1) << e.quiet[kind];
		ratios << space << name_of(kind, c) << "=" << std::setprecision(9) << e.ratios[kind];
		space = " ";
	}
	report(prefix + "runs", std::to_string(s.runs));
	report(prefix + "mean", e.mean);
	report(prefix + "low", e.low);
	report(prefix + "high", e.high);
	report(prefix + "ratio", e.ratio);
	report(prefix + "calibrator", name_of(e.kind, c));
	report(prefix + "calibrator-ns", e.medians[e.kind]);
	report(prefix + "calibrated", reference_of(name_of(e.kind, c)).ns > 0 ? "yes" : "no");
	report(prefix + "calibrators", calibrators.str());
	report(prefix + "ratios", ratios.str());
	report(prefix + "raw-mean", s.mean);
	report(prefix + "std", s.std);
	report(prefix + "err", s.err);
	report(prefix + "best", s.best);
	report(prefix + "worst", s.worst);
#ifdef PRINT_SCORE
	std::ostringstream score;
	score << "score:" << e.mean / 1e9 << "\n";
	flush_streams();
	write_all(1, score.str());
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
			report_error(prefix, call.error);
		passed = passed && call.error.empty();
		if (call.last)
			break;
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
		Call last = measure(cases[i], rule, calls);
		report(prefix + "status", last.error.empty() ? "pass" : "fail");
		if (last.error.empty())
			report_times(cases[i], prefix, calls);
		else
			report_error(prefix, last.error);
		passed = passed && last.error.empty();
		if (last.last)
			break;
	}
	return passed;
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
		if (error.empty())
			report(prefix + "report", field_base64(text));
		else
			report_error(prefix, error);
		passed = passed && error.empty();
	}
	return passed;
}

// ---- Start ----

std::vector<Case>
read_cases(const char *path)
{
	if (!harness.cases)
		throw BadCase(std::string("cannot read the cases file ") + path);
	std::istringstream file(std::string(harness.cases, harness.cases_size));
	std::vector<Case> cases;
	for (std::string line; std::getline(file, line);) {
		if (line.find_first_not_of(" \t\r") == std::string::npos)
			continue;
		cases.emplace_back(line);
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

// All of main: starts, runs, reports and ends the process. begin: what has to happen before the first case.
[[noreturn]] void
run_harness(char **argv, void (*begin)())
{
	static const char usage[] = "usage: POPCORN_FD=N program test|benchmark|leaderboard|profile CASES";
	bool called = harness.mode;
	if (!called && harness.channel < 0)
		stop(USAGE, usage);
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
		begin();
		if (!called)
			blame("task", USAGE, usage);
		passed = run_mode(harness.mode, argv[2]);
	} catch (const MachineFault &e) {
		blame("machine", MACHINE_FAULT, e.what());
	} catch (const BadCase &e) {
		blame("task", BAD_CASE, e.what());
	} catch (const std::exception &e) { // no memory, an output that is none: a submission can cause that
		stop(TEST_FAILED, e.what());
	}
	flush_streams(); // what follows is the last that this process does
	report("check", passed ? "pass" : "fail");
	leave(passed ? PASSED : TEST_FAILED);
}
} // namespace

#endif
