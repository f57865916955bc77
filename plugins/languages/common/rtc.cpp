// SPDX-License-Identifier: MIT
// Compiles device code at once, by the library of NVRTC or hiprtc: rtc nvrtc|hiprtc SOURCE OUTPUT OPTIONS...
//
// Options that begin with -L are folders in which the library may be; all others are the compiler's.
// It comes with the plan and is built on the machine that compiles, for which no more than a C++ compiler is needed: the
// library is the toolkit's, found when this runs. Both have the same interface under two names.
#include <dlfcn.h>
#include <glob.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

namespace
{
constexpr int FAILED = 1, USAGE = 2;

/* The library of that name in one of the folders, whatever version its file's name has. */
void *
open_in(const std::vector<std::string> &folders, const std::string &name)
{
	for (const std::string &folder : folders) {
		if (folder.size() >= 6 && folder.compare(folder.size() - 6, 6, "/stubs") == 0)
			continue; // what is there is for linkers alone
		glob_t found = {};
		void *library = nullptr;
		if (glob((folder + "/" + name + ".so*").c_str(), 0, nullptr, &found) == 0)
			for (size_t i = 0; i < found.gl_pathc && !library; i++)
				library = dlopen(found.gl_pathv[i], RTLD_NOW | RTLD_GLOBAL);
		globfree(&found);
		if (library)
			return library;
	}
	return dlopen((name + ".so").c_str(), RTLD_NOW | RTLD_GLOBAL);
}

void *
open_library(const std::vector<std::string> &folders, const std::string &api)
{
	// It would look for this by its name alone, and finds what is there already.
	if (api == "nvrtc")
		open_in(folders, "libnvrtc-builtins");
	// Older ROCm has hiprtc in the library of the runtime.
	const std::vector<std::string> names =
		api == "nvrtc" ? std::vector<std::string>{"libnvrtc"} : std::vector<std::string>{"libhiprtc", "libamdhip64"};
	for (const std::string &name : names)
		if (void *library = open_in(folders, name))
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
	if (argc < 4) {
		fputs("usage: rtc nvrtc|hiprtc SOURCE OUTPUT OPTIONS...\n", stderr);
		return USAGE;
	}
	std::vector<const char *> options(argv + 4, argv + argc);
	std::vector<std::string> folders;
	for (const char *option : options)
		if (strncmp(option, "-L", 2) == 0)
			folders.push_back(option + 2);
	options.erase(std::remove_if(options.begin(), options.end(), [](const char *option) { return strncmp(option, "-L", 2) == 0; }),
				  options.end());
	Api api = {open_library(folders, argv[1]), argv[1]};
	if (!api.library) {
		fprintf(stderr, "rtc: the toolkit has no %s\n", argv[1]);
		return FAILED;
	}
	std::ifstream in(argv[2], std::ios::binary);
	std::string source{std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()}, code;
	int rc = compile(api, argv[2], source, options, code);
	if (rc != 0)
		return rc;
	std::ofstream out(argv[3], std::ios::binary);
	out.write(code.data(), static_cast<std::streamsize>(code.size())).flush();
	return out ? 0 : FAILED;
}
