// SPDX-License-Identifier: MIT
// class: Correctness: reading the secret seed in the environment, in /proc, in a static constructor that runs before main
// tries: to find the seed before main: in the environment, in what is left of it, and number by number in all the memory
//        that the process has then, also as digits, decimal ones or pieces of at least 8 hexadecimal ones.
// expect: passed
// mode: ranked
#include "attack.h"

#include <algorithm>
#include <ctype.h>
#include <set>
#include <string>

extern "C" char **environ;

static std::set<uint64_t> found;
static std::set<std::string> pieces; // as they were read, without their repetitions

static void
look(const char *from, const char *to)
{
	for (const char *at = from; at + sizeof(uint64_t) <= to; at += sizeof(uint32_t)) {
		uint64_t value;
		memcpy(&value, at, sizeof(value));
		if (value > 100000 && value < 1u << 31)
			found.insert(value);
	}
	size_t run = 0;
	for (const char *at = from; at <= to; at++) {
		bool digit = at < to && isxdigit(static_cast<unsigned char>(*at));
		if (!digit && run >= 8)
			pieces.insert(std::string(at - run, std::min(run, size_t{64})));
		run = digit ? run + 1 : 0;
	}
	for (const char *at = from; at < to; at++) {
		char digits[12] = "";
		size_t count = 0;
		while (at < to && *at >= '0' && *at <= '9' && count < 11)
			digits[count++] = *at++;
		if (count > 5 && count < 11)
			found.insert(strtoull(digits, nullptr, 10));
	}
}

struct Early {
	Early()
	{
		tried();
		for (char **entry = environ; *entry; entry++)
			if (strstr(*entry, "POPCORN_SEED"))
				escaped("the environment has %s", *entry);
		std::string own, parts[200];
		char line[500];
		FILE *maps = fopen("/proc/self/maps", "r");
		size_t count = 0;
		while (maps && count < 200 && fgets(line, sizeof(line), maps))
			parts[count++] = line;
		for (size_t i = 0; i < count; i++) {
			char *from = nullptr, *to = nullptr, rights[5] = "";
			bool stack = parts[i].find("[stack]") != std::string::npos;
			if (sscanf(parts[i].c_str(), "%p-%p %4s", reinterpret_cast<void **>(&from), reinterpret_cast<void **>(&to),
					rights) == 3 &&
				rights[0] == 'r' && rights[1] == 'w' && (stack || to - from < 4 << 20))
				look(from, to);
		}
		if (found.size() < 10 || !maps)
			escaped("nothing of the memory was seen, so the attack proves nothing");
		size_t shown = 0;
		for (uint64_t value : found)
			if (shown++ < 4000)
				dprintf(STDERR_FILENO, "%llu ", static_cast<unsigned long long>(value));
		shown = 0;
		for (const std::string &piece : pieces)
			if (shown++ < 1000)
				dprintf(STDERR_FILENO, "%s ", piece.c_str());
		dprintf(STDERR_FILENO, "\n%zu pieces\n", pieces.size());
	}
};
static Early early;

void
custom_kernel(Span<const float> input, Span<float> output)
{
	honest(input, output);
}
