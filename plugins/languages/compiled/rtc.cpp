// SPDX-License-Identifier: MIT
// Compiles device code at once, by the library of NVRTC or hiprtc: rtc TOOLKIT nvrtc|hiprtc SOURCE OUTPUT OPTIONS...
//
// It comes with the plan and is built on the machine that compiles, for which no more than a C++ compiler is needed: the
// library is the toolkit's, found when this runs. Both have the same interface under two names.
#include <dlfcn.h>

#include <cstdio>
#include <cstring>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

namespace
{
constexpr int FAILED = 1, USAGE = 2;

void *
open_library(const std::string &toolkit, const std::string &api)
{
	// Older ROCm has hiprtc in the library of the runtime.
	const std::vector<std::string> names =
		api == "nvrtc" ? std::vector<std::string>{"libnvrtc.so"} : std::vector<std::string>{"libhiprtc.so", "libamdhip64.so"};
	for (const char *folder : {"/lib64/", "/lib/", "/targets/x86_64-linux/lib/", "/lib/x86_64-linux-gnu/"})
		for (const std::string &name : names)
			if (void *library = dlopen((toolkit + folder + name).c_str(), RTLD_NOW | RTLD_GLOBAL))
				if (dlsym(library, (api + "CreateProgram").c_str()))
					return library;
	for (const std::string &name : names)
		if (void *library = dlopen(name.c_str(), RTLD_NOW | RTLD_GLOBAL))
			if (dlsym(library, (api + "CreateProgram").c_str()))
				return library;
	return nullptr;
}

struct Api {
	void *library;
	std::string prefix;
	template <typename Function>
	Function
	get(const char *name) const
	{
		return reinterpret_cast<Function>(dlsym(library, (prefix + name).c_str()));
	}
};

using Program = void *;
using Create = int (*)(Program *, const char *, const char *, int, const char *const *, const char *const *);
using Compile = int (*)(Program, int, const char *const *);
using Size = int (*)(Program, size_t *);
using Fill = int (*)(Program, char *);
using Describe = const char *(*)(int);

std::string
text_of(const Api &api, Program program, const char *size_name, const char *fill_name)
{
	size_t size = 0;
	if (api.get<Size>(size_name)(program, &size) != 0)
		return "";
	std::string text(size, '\0');
	return api.get<Fill>(fill_name)(program, &text[0]) == 0 ? text : "";
}

int
compile(const Api &api, const char *name, const std::string &source, const std::vector<const char *> &options, std::string &code)
{
	Program program = nullptr;
	int rc = api.get<Create>("CreateProgram")(&program, source.c_str(), name, 0, nullptr, nullptr);
	if (rc == 0)
		rc = api.get<Compile>("CompileProgram")(program, static_cast<int>(options.size()), options.data());
	if (program)
		fputs(text_of(api, program, "GetProgramLogSize", "GetProgramLog").c_str(), stderr);
	if (rc != 0) {
		fprintf(stderr, "rtc: error: %s\n", api.get<Describe>("GetErrorString")(rc));
		return FAILED;
	}
	bool nvidia = api.prefix == "nvrtc";
	code = text_of(api, program, nvidia ? "GetCUBINSize" : "GetCodeSize", nvidia ? "GetCUBIN" : "GetCode");
	return code.empty() ? FAILED : 0;
}
} // namespace

int
main(int argc, char **argv)
{
	if (argc < 5) {
		fputs("usage: rtc TOOLKIT nvrtc|hiprtc SOURCE OUTPUT OPTIONS...\n", stderr);
		return USAGE;
	}
	Api api = {open_library(argv[1], argv[2]), argv[2]};
	if (!api.library) {
		fprintf(stderr, "rtc: the toolkit in %s has no %s\n", argv[1], argv[2]);
		return FAILED;
	}
	std::ifstream in(argv[3], std::ios::binary);
	std::string source{std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()}, code;
	int rc = compile(api, argv[3], source, std::vector<const char *>(argv + 5, argv + argc), code);
	if (rc != 0)
		return rc;
	std::ofstream out(argv[4], std::ios::binary);
	out.write(code.data(), static_cast<std::streamsize>(code.size())).flush();
	return out ? 0 : FAILED;
}
