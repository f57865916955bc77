/* SPDX-License-Identifier: MIT */
/* libcurl, loaded when it is first needed: it and what it depends on take several MB. */
#ifndef KETTLE_HTTP_CURL_LIBRARY_H
#define KETTLE_HTTP_CURL_LIBRARY_H

#if KETTLE_HAVE_HTTP
#include <curl/curl.h>
#include <kettle/error.h>

#define CURL_FUNCTIONS(X) \
	X(global_init) \
	X(version_info) \
	X(slist_append) \
	X(slist_free_all) \
	X(easy_init) \
	X(easy_cleanup) \
	X(easy_reset) \
	X(easy_setopt) \
	X(easy_getinfo) \
	X(easy_strerror) \
	X(multi_init) \
	X(multi_cleanup) \
	X(multi_setopt) \
	X(multi_assign) \
	X(multi_add_handle) \
	X(multi_remove_handle) \
	X(multi_socket_action) \
	X(multi_info_read) \
	X(url) \
	X(url_cleanup) \
	X(url_get) \
	X(url_set) \
	X(free) \
	X(getdate)

/* The functions of the library, named without their `curl_`. */
struct curl_library {
#define X(name) __typeof__(curl_##name) *name;
	CURL_FUNCTIONS(X)
#undef X
};

/* Loads and initialises it, once in a process; never freed. [any] [blocks] EUNAVAIL: it is missing or too old. */
int curl_library_load(const struct curl_library **ret_curl, struct kettle_error *err);
#endif

#endif
