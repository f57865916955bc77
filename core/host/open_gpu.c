/* SPDX-License-Identifier: MIT */
#include <config.h>

#include "host/open_gpu.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

/* Functions of the drivers' libraries, whose headers are on no machine without them. */
typedef int (*driver_init)(unsigned flags);
typedef int (*driver_retain)(void **ret_context, int device);
typedef int (*driver_free)(void *memory);

/* The library's function; NULL: it has none, which is described. */
static void *
find_driver(const char *library, const char *name, char *ret_why, size_t size)
{
	void *handle = dlopen(library, RTLD_NOW | RTLD_LOCAL);
	void *function = handle ? dlsym(handle, name) : NULL;
	if (!function)
		(void)snprintf(ret_why, size, "%s", handle ? name : dlerror());
	return function;
}

static int
check_driver(const char *name, int code, char *ret_why, size_t size)
{
	if (code != 0)
		(void)snprintf(ret_why, size, "%s gives %d", name, code);
	return code ? -1 : 0;
}

/* Makes the context that runtimes use on the first visible device. */
static int
open_cuda(char *ret_why, size_t size)
{
	static const char library[] = "libcuda.so.1";
	void *context;
	driver_init init = (driver_init)find_driver(library, "cuInit", ret_why, size);
	driver_retain retain = init ? (driver_retain)find_driver(library, "cuDevicePrimaryCtxRetain", ret_why, size) : NULL;
	if (!retain || check_driver("cuInit", init(0), ret_why, size))
		return -1;
	return check_driver("cuDevicePrimaryCtxRetain", retain(&context, 0), ret_why, size);
}

static int
open_hip(char *ret_why, size_t size)
{
	/* Only development packages have the name without a number. */
	static const char *const libraries[] = {"libamdhip64.so.7", "libamdhip64.so.6", "libamdhip64.so.5", NULL};
	driver_init init = NULL;
	driver_free release = NULL;
	for (size_t i = 0; libraries[i] && !release; i++) {
		init = (driver_init)find_driver(libraries[i], "hipInit", ret_why, size);
		release = init ? (driver_free)find_driver(libraries[i], "hipFree", ret_why, size) : NULL;
	}
	if (!release || check_driver("hipInit", init(0), ret_why, size))
		return -1;
	return check_driver("hipFree", release(NULL), ret_why, size);
}

int
open_gpu(char *ret_why, size_t size)
{
	const char *cuda = getenv("CUDA_VISIBLE_DEVICES"), *hip = getenv("HIP_VISIBLE_DEVICES");
	return (cuda && *cuda && open_cuda(ret_why, size)) || (hip && *hip && open_hip(ret_why, size)) ? -1 : 0;
}
