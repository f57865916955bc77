/* SPDX-License-Identifier: MIT */
/* libcurl, loaded when it is first needed. */
#include <config.h>

#include "http/curl_library.h"

#if KETTLE_HAVE_HTTP
#include <dlfcn.h>
#include <pthread.h>

#define CURL_FILE "libcurl.so.4"
#define CURL_OLDEST 0x074c00 /* 7.76 */

static struct {
	pthread_once_t once;
	struct curl_library library;
	int rc;
	struct kettle_error err;
} loaded = {.once = PTHREAD_ONCE_INIT};

static int
find_functions(void *handle)
{
	struct curl_library *library = &loaded.library;
#define X(name) \
	library->name = (__typeof__(library->name))dlsym(handle, "curl_" #name); \
	if (!library->name) \
		return kettle_fail(&loaded.err, KETTLE_EUNAVAIL, \
			"HTTP is not available: " CURL_FILE " has no function curl_" #name "; libcurl 7.76 or newer is needed.");
	CURL_FUNCTIONS(X)
#undef X
	return 0;
}

/* It is never unloaded: it may have threads that wait for a name server. */
static int
load(void)
{
	void *handle = dlopen(CURL_FILE, RTLD_NOW | RTLD_LOCAL);
	if (!handle)
		return kettle_fail(&loaded.err, KETTLE_EUNAVAIL,
			"HTTP is not available: libcurl cannot be loaded (%.300s). Install the package libcurl4.", dlerror());
	int rc = find_functions(handle);
	if (rc < 0)
		return rc;
	if (loaded.library.global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK)
		return kettle_fail(&loaded.err, KETTLE_EUNAVAIL, "HTTP is not available: libcurl cannot be initialised.");
	const curl_version_info_data *version = loaded.library.version_info(CURLVERSION_NOW);
	if (version->version_num < CURL_OLDEST)
		return kettle_fail(&loaded.err, KETTLE_EUNAVAIL,
			"HTTP is not available: this machine's libcurl is %s; 7.76 or newer is needed.", version->version);
	return 0;
}

static void
load_once(void)
{
	loaded.rc = load();
}

int
curl_library_load(const struct curl_library **ret_curl, struct kettle_error *err)
{
	(void)pthread_once(&loaded.once, load_once);
	if (loaded.rc < 0) {
		*err = loaded.err;
		return loaded.rc;
	}
	*ret_curl = &loaded.library;
	return 0;
}
#endif
