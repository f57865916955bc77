/* SPDX-License-Identifier: MIT */
/* kettle-gpu: prints the facts that the makers' own libraries report of this machine's GPUs, as JSON. */
/* A program of its own: a static kettle-exec cannot open libraries, and a driver that hangs stops only this process. */
#include <config.h>

#include <getopt.h>

#include "base/base.h"
#include "gpu/gpu.h"

enum { EXIT_READ = 0, EXIT_USAGE = 2, EXIT_UNABLE = 3 };

static const struct option long_options[] = {
	{"nvml", required_argument, NULL, 'n'},
	{"rocm-smi", required_argument, NULL, 'r'},
	{"topology", required_argument, NULL, 't'},
	{"version", no_argument, NULL, 'v'},
	{"help", no_argument, NULL, 'h'},
	{0},
};

static void
print_help(void)
{
	(void)printf("Usage: kettle-gpu [OPTION]...\n"
				 "Prints this machine's GPUs, as the vendors' libraries report them, as JSON.\n\n"
				 "  --nvml PATH        NVIDIA's library (default: " NVML_LIBRARY ")\n"
				 "  --rocm-smi PATH    AMD's library (default: " ROCM_LIBRARY ")\n"
				 "  --topology DIR     AMD's compute nodes (default: " ROCM_TOPOLOGY ")\n"
				 "  --version          print the version and exit\n"
				 "  --help             print this help and exit\n\n"
				 "The environment variables KETTLE_NVML and KETTLE_ROCM_SMI override the defaults.\n"
				 "Exit status: 0 on success, 2 for a usage error, 3 if a driver is installed but does not respond.\n"
				 "See kettle-gpu(1).\n");
}

static const char *
default_of(const char *variable, const char *text)
{
	const char *value = getenv(variable);
	return value && *value ? value : text;
}

/* A missing library is not an error, one that does not work is. */
static bool
note(json_t *errors, const char *vendor, int rc, const struct kettle_error *error)
{
	if (rc == 0 || rc == KETTLE_ENOENT)
		return true;
	json_array_append_new(errors, json_pack("{s:s, s:s}", "vendor", vendor, "error", error->message));
	return false;
}

int
main(int argc, char **argv)
{
	const char *nvml = default_of("KETTLE_NVML", NVML_LIBRARY), *smi = default_of("KETTLE_ROCM_SMI", ROCM_LIBRARY);
	const char *topology = ROCM_TOPOLOGY;
	int letter;
	json_set_alloc_funcs(xmalloc, free);
	while ((letter = getopt_long(argc, argv, "", long_options, NULL)) != -1) {
		switch (letter) {
		case 'n':
			nvml = optarg;
			break;
		case 'r':
			smi = optarg;
			break;
		case 't':
			topology = optarg;
			break;
		case 'v':
			(void)printf("kettle-gpu %s\n", PACKAGE_VERSION);
			return EXIT_READ;
		case 'h':
			print_help();
			return EXIT_READ;
		default:
			return EXIT_USAGE;
		}
	}
	if (optind < argc) {
		(void)fprintf(stderr, "kettle-gpu: no arguments are allowed.\nTry `kettle-gpu --help`.\n");
		return EXIT_USAGE;
	}
	struct kettle_error error = {0};
	json_t *gpus = json_array(), *errors = json_array();
	bool well = note(errors, "nvidia", nvml_read(nvml, gpus, &error), &error);
	well = note(errors, "amd", rocm_read(smi, topology, gpus, &error), &error) && well;
	json_t *all = json_pack("{s:o, s:o}", "gpus", gpus, "errors", errors);
	bool written = json_dumpf(all, stdout, JSON_COMPACT) == 0 && putchar('\n') != EOF && fflush(stdout) == 0;
	json_decref(all);
	return well && written ? EXIT_READ : EXIT_UNABLE;
}
