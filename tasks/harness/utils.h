// SPDX-License-Identifier: MIT
// What the authors of C++ tasks need: a case's values, random numbers that are the same everywhere, comparison.
#ifndef KETTLE_TASK_UTILS_H
#define KETTLE_TASK_UTILS_H

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <map>
#include <stdexcept>
#include <string>
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
	// The seed to use: of the case, combined with the secret one where there is one, another one for every call.
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
			throw BadCase("`" + key + "` is not a key of a case: use letters, digits and _");
		if (value.empty() || (value.front() != '[' && !is_word(value.front() == '-' ? value.substr(1) : value)))
			throw BadCase("`" + value + "` is not a value of a case: use an integer, True, False, [1, 2] or a word");
		if (!values_.emplace(key, value).second)
			throw BadCase("`" + key + "` stands twice in the case `" + text_ + "`");
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

// By their bits: with -ffast-math the compiler takes std::isnan and comparisons with NaN for false or true as it likes.
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

// Whether one value is right. NaN and infinity are right only where the reference has the same: they are no wildcard.
inline bool
is_close(double got, double want, double relative, double absolute)
{
	if (!is_finite(got) || !is_finite(want))
		return is_nan(want) ? is_nan(got) : double_bits(got) == double_bits(want);
	return std::fabs(got - want) <= absolute + relative * std::fabs(want);
}

// Says where `got` differs from `want` by more than absolute + relative * |want|: "" where it does not, else a
// sentence for the participant with the first few places.
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
		if (wrong++ < show) {
			char place[120];
			snprintf(place, sizeof(place), "; at %zu: %.9g, expected %.9g", i, g, w);
			places += place;
		}
	}
	if (wrong == 0)
		return "";
	return std::to_string(wrong) + " of " + std::to_string(got.size()) + " elements are wrong" + places +
		   (wrong > show ? "; and more" : "");
}

#endif
