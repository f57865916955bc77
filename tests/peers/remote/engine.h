/* SPDX-License-Identifier: MIT */
/* The engine of a simulated world (world.h). */
#pragma once

#include "peers/remote/world.h"

/* The next attempt of a job is submitted after delay_ms. */
void engine_plan(struct job *job, uint64_t delay_ms);
/* Somebody cancels a job: a struct job. */
void engine_cancel(void *arg);
/* A reload moves the device: what is not known to run is cancelled, and tried again there: a struct world. */
void engine_move(void *arg);
/* A life begins, and takes up what the last one left: a struct world. */
void engine_start(void *arg);
/* The life that is stops, unless it is calm: a struct world. */
void engine_stop(void *arg);
/* The same in any case. */
void engine_end(struct world *world);
/* Looks after the life that is, between two turns of the loop. */
void engine_tend(struct world *world);
void engine_free(struct world *world);

/* What a life's plugin says of jobs. */
void engine_takes_handle(struct world *world, const char *ref, const char *handle);
void engine_takes_event(struct world *world, const char *ref, const json_t *event);
/* It is checked at once, and committed later. New reference, stolen. */
void engine_takes_completion(struct world *world, const char *ref, json_t *completion_take);
