/* SPDX-License-Identifier: MIT */
/* A frontend: how people and programs use the engine. It uses the core through host->call and host->subscribe only. */
#ifndef KETTLE_FRONTEND_H
#define KETTLE_FRONTEND_H

#include <jansson.h>
#include <kettle/abi.h>
#include <kettle/error.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define KETTLE_EVENTS_OPEN 64 /* events that are handed to one frontend before it has dealt with the first of them */

struct kettle_frontend {
	uint32_t size;
	/*
	 * A stored event, in order, over restarts; only while `kettle serve` runs. Borrowed for the call. The frontend
	 * calls host->event_done with the event's `seq` when it has dealt with the event (for example when its message has
	 * arrived), in this call or later, in any order. Up to KETTLE_EVENTS_OPEN events are open at once; the next one
	 * comes when the oldest of them is done. After a restart or a crash, events come again, in order, from the oldest
	 * that was not done (or whose event_done was not yet stored), later ones that were done included: a frontend that
	 * must not act twice keeps their `seq` in its state. A new frontend begins with the next event. NULL: not
	 * interested.
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
