/* SPDX-License-Identifier: MIT */
/*
 * Headers and libraries that a machine lacks: its fault, whoever named them, and said how to get. All of it is like
 * `interpret` of kettle/language.h, with KETTLE_ENOENT where it is nothing of the kind. product: "CUDA", of the toolkit whose
 * parts the outcome tells; NULL: there is none. Pure. [any]
 */
#ifndef KETTLE_LACKS_H
#define KETTLE_LACKS_H

#include <jansson.h>
#include <kettle/error.h>

/* A header that the compiler did not find, where it belongs to a part that the toolkit lacks. */
int lacks_explain_header(const char *product, const json_t *outcome, json_t **ret_verdict, struct kettle_error *err);
/* A library that the linker did not find, or the loader when the program started. */
int lacks_explain_library(
	const char *product, const json_t *step, const json_t *outcome, json_t **ret_verdict, struct kettle_error *err);
/* The compiler that is a library (api: "nvrtc"), which the program that opens it did not find. */
int lacks_explain_rtc(
	const char *product, const char *api, const json_t *outcome, json_t **ret_verdict, struct kettle_error *err);

#endif
