// SPDX-License-Identifier: MIT
// For authors of C++ tasks: a case's values, random numbers that are the same everywhere, comparison. And functions of
// the harness.
#ifndef KETTLE_TASK_UTILS_H
#define KETTLE_TASK_UTILS_H

#include <elf.h>
#include <link.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

// A case that the task cannot use: a key is missing or has another type. The harness ends with status 113.
struct BadCase : std::invalid_argument {
	using std::invalid_argument::invalid_argument;
};

// One line of the cases file: `key: value; key: value`.
// Values are integers, True or False, lists of integers, and words.
class Case
{
  public:
	// Throws BadCase, with a sentence, for a line that has not this form.
	explicit Case(const std::string &line) : text_(line)
	{
		size_t at = 0;
		while (at < line.size()) {
			size_t end = line.find(';', at);
			end = end == std::string::npos ? line.size() : end;
			add(trimmed(line.substr(at, end - at)));
			at = end + 1;
		}
		if (values_.empty())
			throw BadCase("a case needs at least one `key: value`");
		if (has("seed"))
			seed_ = static_cast<uint64_t>(integer("seed"));
	}

	const std::string &text() const // the line as it was written
	{
		return text_;
	}
	bool has(const std::string &key) const
	{
		return values_.count(key) != 0;
	}
	// The seed to use: of the case, combined with the secret one if there is one; it differs for every call.
	// Always take it from here, never from integer("seed").
	uint64_t seed() const
	{
		return seed_;
	}
	void set_seed(uint64_t seed) // the harness calls this
	{
		seed_ = seed;
	}
	long long integer(const std::string &key) const
	{
		return parse_integer(key, word(key));
	}
	// An integer that is used as a size: 1 to `most`.
	size_t size(const std::string &key, long long most = 1LL << 32) const
	{
		long long value = integer(key);
		if (value < 1 || value > most)
			throw BadCase("`" + key + "` must be from 1 to " + std::to_string(most) + ", not " + std::to_string(value));
		return static_cast<size_t>(value);
	}
	bool boolean(const std::string &key) const
	{
		const std::string &value = word(key);
		if (value != "True" && value != "False")
			throw BadCase("`" + key + "` must be True or False, not `" + value + "`");
		return value == "True";
	}
	const std::string &word(const std::string &key) const
	{
		auto found = values_.find(key);
		if (found == values_.end())
			throw BadCase("the case `" + text_ + "` has no `" + key + "`");
		return found->second;
	}
	std::vector<long long> list(const std::string &key) const
	{
		const std::string &value = word(key);
		if (value.size() < 2 || value.front() != '[' || value.back() != ']')
			throw BadCase("`" + key + "` must be a list like [1, 2], not `" + value + "`");
		std::vector<long long> items;
		std::string inner = trimmed(value.substr(1, value.size() - 2));
		for (size_t at = 0; at < inner.size();) {
			size_t end = inner.find(',', at);
			end = end == std::string::npos ? inner.size() : end;
			items.push_back(parse_integer(key, trimmed(inner.substr(at, end - at))));
			at = end + 1;
		}
		return items;
	}

  private:
	static std::string trimmed(const std::string &text)
	{
		size_t from = text.find_first_not_of(" \t\r");
		return from == std::string::npos ? "" : text.substr(from, text.find_last_not_of(" \t\r") - from + 1);
	}
	static bool is_word(const std::string &text)
	{
		return !text.empty() &&
			   text.find_first_not_of("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_") ==
				   std::string::npos;
	}
	static long long parse_integer(const std::string &key, const std::string &value)
	{
		size_t used = 0;
		long long number = 0;
		try {
			number = std::stoll(value, &used, 10);
		} catch (const std::exception &) {
			used = 0;
		}
		if (used == 0 || used != value.size())
			throw BadCase("`" + key + "` must be an integer, not `" + value + "`");
		return number;
	}
	void add(const std::string &pair)
	{
		size_t colon = pair.find(':');
		if (colon == std::string::npos)
			throw BadCase("`" + pair + "` in a case is not of the form `key: value`");
		std::string key = trimmed(pair.substr(0, colon)), value = trimmed(pair.substr(colon + 1));
		if (!is_word(key))
			throw BadCase("`" + key + "` is not a valid key: use letters, digits and _");
		if (value.empty() || (value.front() != '[' && !is_word(value.front() == '-' ? value.substr(1) : value)))
			throw BadCase("`" + value + "` is not a valid value: use an integer, True, False, [1, 2] or a word");
		if (!values_.emplace(key, value).second)
			throw BadCase("`" + key + "` occurs twice in the case `" + text_ + "`");
	}

	std::string text_;
	std::map<std::string, std::string> values_;
	uint64_t seed_ = 0;
};

// Random numbers that are the same with every compiler and library, which std::normal_distribution is not:
// splitmix64, one multiplication chain a number.
class Random
{
  public:
	explicit Random(uint64_t seed) : state_(seed)
	{
	}
	uint64_t bits()
	{
		uint64_t z = state_ += 0x9e3779b97f4a7c15u;
		z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
		z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
		return z ^ (z >> 31);
	}
	double uniform(double low, double high) // low included, high not
	{
		return low + (high - low) * (static_cast<double>(bits() >> 11) * 0x1p-53);
	}
	float uniform(float low, float high)
	{
		return low + (high - low) * (static_cast<float>(bits() >> 40) * 0x1p-24f);
	}
	// 0 to bound - 1; bound at most 2^32.
	uint64_t below(uint64_t bound)
	{
		return ((bits() >> 32) * bound) >> 32;
	}
	double normal() // mean 0, variance 1
	{
		double radius = std::sqrt(-2.0 * std::log(1.0 - uniform(0.0, 1.0)));
		return radius * std::cos(6.283185307179586 * uniform(0.0, 1.0));
	}
	template <class T> std::vector<T> uniforms(size_t count, T low, T high)
	{
		std::vector<T> values(count);
		for (T &value : values)
			value = uniform(low, high);
		return values;
	}

  private:
	uint64_t state_;
};

// By their bits: with -ffast-math the results of std::isnan and of comparisons with NaN are undefined.
inline uint64_t
double_bits(double value)
{
	uint64_t bits;
	std::memcpy(&bits, &value, sizeof(bits));
	return bits;
}
inline bool
is_finite(double value)
{
	return (double_bits(value) & 0x7ff0000000000000u) != 0x7ff0000000000000u;
}
inline bool
is_nan(double value)
{
	return (double_bits(value) & 0x7fffffffffffffffu) > 0x7ff0000000000000u;
}

// Whether one value is right. NaN and infinity are right only where the reference has the same.
inline bool
is_close(double got, double want, double relative, double absolute)
{
	if (!is_finite(got) || !is_finite(want))
		return is_nan(want) ? is_nan(got) : double_bits(got) == double_bits(want);
	return std::fabs(got - want) <= absolute + relative * std::fabs(want);
}

// In the message of a check: in front of details, which are shown only on request.
constexpr char MORE = '\f';

// A number, short, but with the digits by which it differs from the other one; a whole one as it is.
inline std::string
digits_of(double value, double other, bool whole)
{
	char text[40], against[40];
	for (int digits = whole ? 17 : 4;; digits++) {
		snprintf(text, sizeof(text), "%.*g", digits, value);
		snprintf(against, sizeof(against), "%.*g", digits, other);
		if (digits >= 17 || std::strcmp(text, against) != 0)
			return text;
	}
}

// What is wrong with an element: "at 17: got 0.7311, expected 0.5, off by 0.231 (tolerance 1e-07)".
inline std::string
place_of(size_t at, double got, double want, double tolerance, bool whole)
{
	char off[80] = "";
	if (is_finite(got) && is_finite(want))
		snprintf(off, sizeof(off), ", off by %.3g (tolerance %.3g)", std::fabs(got - want), tolerance);
	return "at " + std::to_string(at) + ": got " + digits_of(got, want, whole) + ", expected " +
		   digits_of(want, got, whole) + off;
}

// Says where `got` differs from `want` by more than absolute + relative * |want|: "" where it does not, else a
// sentence for the participant with the first place, and behind MORE a few further ones.
template <class T>
std::string
differences(const std::vector<T> &got, const std::vector<T> &want, double relative, double absolute, size_t show = 5)
{
	if (got.size() != want.size())
		return "the output has " + std::to_string(got.size()) + " elements, expected " + std::to_string(want.size());
	size_t wrong = 0;
	std::string places;
	for (size_t i = 0; i < got.size(); i++) {
		double g = static_cast<double>(got[i]), w = static_cast<double>(want[i]);
		if (is_close(g, w, relative, absolute))
			continue;
		if (wrong++ < show)
			places += (wrong == 1      ? "; the first "
						  : wrong == 2 ? std::string(1, MORE)
									   : "; ") +
					  place_of(i, g, w, absolute + relative * std::fabs(w), std::is_integral<T>::value);
	}
	if (wrong == 0)
		return "";
	return std::to_string(wrong) + " of " + std::to_string(got.size()) +
		   (wrong == 1 ? " elements is wrong" : " elements are wrong") + places + (wrong > show ? "; and more" : "");
}

// ---- What the harness needs of the machine and for its report ----

namespace
{
// Code that runs before everything else: plain, no library that needs to be initialised.
#define EARLY __attribute__((no_sanitize("address", "undefined", "thread"))) static

using clock_function = int (*)(clockid_t, struct timespec *);

EARLY bool
same_text(const char *a, const char *b)
{
	while (*a && *a == *b)
		a++, b++;
	return *a == *b;
}

// The vDSO's own clock_gettime: a kernel entry takes several times as long, and a submission can define the C
// library's symbol. NULL if there is none.
EARLY clock_function
vdso_clock(const unsigned char *base)
{
	const ElfW(Ehdr) *header = reinterpret_cast<const ElfW(Ehdr) *>(base);
	const ElfW(Phdr) *segments = reinterpret_cast<const ElfW(Phdr) *>(base + header->e_phoff);
	const ElfW(Dyn) *dynamic = nullptr;
	uintptr_t shift = 0;
	for (int i = header->e_phnum - 1; i >= 0; i--) {
		if (segments[i].p_type == PT_DYNAMIC)
			dynamic = reinterpret_cast<const ElfW(Dyn) *>(base + segments[i].p_offset);
		if (segments[i].p_type == PT_LOAD)
			shift = reinterpret_cast<uintptr_t>(base) + segments[i].p_offset - segments[i].p_vaddr;
	}
	uintptr_t names = 0, symbols = 0;
	for (; dynamic && dynamic->d_tag != DT_NULL; dynamic++) {
		if (dynamic->d_tag == DT_STRTAB)
			names = shift + dynamic->d_un.d_ptr;
		if (dynamic->d_tag == DT_SYMTAB)
			symbols = shift + dynamic->d_un.d_ptr;
	}
	// Every linker puts the names right behind the symbols; that gives their number without the hash tables, of which
	// kernels have one or the other.
	if (!symbols || names <= symbols)
		return nullptr;
	const ElfW(Sym) *symbol = reinterpret_cast<const ElfW(Sym) *>(symbols);
	for (size_t count = (names - symbols) / sizeof(*symbol); count > 0; count--, symbol++) {
		const char *name = reinterpret_cast<const char *>(names) + symbol->st_name;
		if (symbol->st_shndx != SHN_UNDEF &&
			(same_text(name, "__vdso_clock_gettime") || same_text(name, "__kernel_clock_gettime")))
			return reinterpret_cast<clock_function>(shift + symbol->st_value);
	}
	return nullptr;
}

// Whether a byte continues a character of UTF-8.
bool
goes_on(char c)
{
	return (static_cast<unsigned char>(c) & 0xc0) == 0x80;
}

// One line of about `most` bytes, printable: text of a submission must not look like a result. Cut between characters.
std::string
on_one_line(const std::string &text, size_t most)
{
	std::string line;
	size_t at = 0;
	for (; at < text.size() && (line.size() < most || goes_on(text[at])) && line.size() < most + 4; at++) {
		char c = text[at];
		if (c == '\n')
			line += " | ";
		else
			line += static_cast<unsigned char>(c) < ' ' || c == 127 ? ' ' : c;
	}
	return line + (at < text.size() ? " … (cut)" : "");
}

// Base64 with + and *, as the protocol has it.
std::string
field_base64(const std::string &text)
{
	static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+*";
	std::string out;
	for (size_t i = 0; i < text.size(); i += 3) {
		uint32_t group = 0;
		for (size_t j = 0; j < 3; j++)
			group = group << 8 | (i + j < text.size() ? static_cast<unsigned char>(text[i + j]) : 0);
		for (size_t j = 0; j < 4; j++)
			out += i + j > text.size() ? '=' : digits[group >> (18 - 6 * j) & 63];
	}
	return out;
}

struct Statistics {
	size_t runs = 0;
	double mean = 0, std = 0, err = 0, best = 0, worst = 0;
};

Statistics
statistics_of(const std::vector<double> &samples)
{
	Statistics s;
	s.runs = samples.size();
	if (samples.empty())
		return s;
	double n = static_cast<double>(s.runs), squares = 0;
	for (double sample : samples)
		s.mean += sample / n;
	for (double sample : samples)
		squares += (sample - s.mean) * (sample - s.mean);
	s.std = samples.size() > 1 ? std::sqrt(squares / (n - 1)) : 0;
	s.err = s.std / std::sqrt(n);
	s.best = *std::min_element(samples.begin(), samples.end());
	s.worst = *std::max_element(samples.begin(), samples.end());
	return s;
}

// The median of some values in the order in which they were measured (one at least), and its 95 % interval. The interval is the wider one of two: from the order of the values, which holds
// where none depends on the one before, and from the medians of parts of the time, which notices slow changes.
struct Middle {
	static constexpr size_t PARTS = 8;
	double median = 0, low = 0, high = 0;

	explicit Middle(std::vector<double> values)
	{
		double drift = values.size() >= 3 * PARTS ? error_of_parts(values) : 0;
		std::sort(values.begin(), values.end());
		size_t count = values.size();
		double n = static_cast<double>(count), reach = 0.98 * std::sqrt(n); // 1.96 standard deviations of a rank
		median = middle_of(values);
		low = std::min(values[static_cast<size_t>(std::max(0.0, std::floor(n / 2 - reach)))], median - drift);
		high = std::max(values[static_cast<size_t>(std::min(n - 1, std::ceil(n / 2 + reach)))], median + drift);
		low = std::max(low, values[0] / 2);
	}

  private:
	static double middle_of(const std::vector<double> &sorted)
	{
		return (sorted[(sorted.size() - 1) / 2] + sorted[sorted.size() / 2]) / 2;
	}
	static double error_of_parts(const std::vector<double> &values)
	{
		constexpr double student = 2.36; // 95 %, seven degrees of freedom
		std::vector<double> medians;
		for (size_t part = 0; part < PARTS; part++) {
			auto at = values.begin();
			std::vector<double> some(at + static_cast<long>(values.size() * part / PARTS),
				at + static_cast<long>(values.size() * (part + 1) / PARTS));
			std::sort(some.begin(), some.end());
			medians.push_back(middle_of(some));
		}
		return student * statistics_of(medians).err;
	}
};

// ---- For the harness: the profiler that it may run under ----

// KETTLE_PROFILE_CONTROL names two descriptors, "WRITE,READ": `enable` and `disable` begin and end what the profiler
// records; it answers each with `ack`.
class Profiler
{
  public:
	Profiler()
	{
		const char *fds = getenv("KETTLE_PROFILE_CONTROL");
		if (!fds || sscanf(fds, "%d,%d", &to_, &from_) != 2)
			to_ = -1;
	}
	bool there() const
	{
		return to_ >= 0;
	}
	void look(bool on)
	{
		char answer[16];
		const char *command = on ? "enable\n" : "disable\n";
		if (there() && (write(to_, command, strlen(command)) < 0 || read(from_, answer, sizeof(answer)) <= 0))
			to_ = -1;
	}

  private:
	int to_ = -1, from_ = -1;
};

inline Profiler &
profiler()
{
	static Profiler profiler;
	return profiler;
}

// A profiler is shown a second of the kernel, but no longer than PROFILE_SECONDS with all that is around the calls.
constexpr double PROFILE_NS = 1e9;
#ifndef PROFILE_SECONDS
#define PROFILE_SECONDS 4.0
#endif

// Calls for a profiler to look at, where there is one: call(n) makes the n-th and returns how long it took, in ns.
template <class Call>
void
calls_for_profiler(Call call)
{
	struct timespec start = {}, now = {};
	clock_gettime(CLOCK_MONOTONIC, &start);
	double seen = 0;
	for (size_t n = 1; profiler().there() && seen < PROFILE_NS; n++) {
		seen += call(n);
		clock_gettime(CLOCK_MONOTONIC, &now);
		if (static_cast<double>(now.tv_sec - start.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec - start.tv_nsec) >
			PROFILE_SECONDS)
			break;
	}
}
} // namespace

#endif
