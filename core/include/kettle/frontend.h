/* SPDX-License-Identifier: MIT */
/* A frontend: how people and programs use the engine. It uses the core through host->call and host->subscribe only. */
#ifndef KETTLE_FRONTEND_H
#define KETTLE_FRONTEND_H

#include <jansson.h>
#include <kettle/error.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct kettle_frontend {
	uint32_t size;
	/*
	 * A stored event, in order, over restarts (the core keeps a cursor for each frontend); only while `kettle serve` runs.
	 * After a crash the last page may be repeated: a frontend that must not act twice stores the event's `seq`.
	 * NULL: not interested.
	 */
	void (*event)(void *self, const json_t *event);
	/*
	 * The command line, for the frontend that owns the terminal: argv is the command line without the program's name and
	 * the global options, which are in globals: {"user": name, "json": bool, "quiet": bool}. Both are borrowed for the
	 * call. done(arg, exit status) is called exactly once, never before run returns; stop ends a command that still
	 * waits with status 130 (main calls it at SIGINT). NULL: it has no command line.
	 */
	int (*run)(void *self, int argc, const char *const *argv, const json_t *globals,
		void (*done)(void *arg, int status), void *arg, struct kettle_error *err);
};

#ifdef __cplusplus
}
#endif
#endif
