/* SPDX-License-Identifier: MIT */
/* Text files of the tree that libcore carries inside (build-aux/embed.awk). */
#pragma once

extern const char competition_schema[]; /* core/task/competition.schema.json */
extern const char task_schema[];        /* core/task/task.schema.json */
extern const char plan_schema[];        /* core/exec/plan/plan.schema.json */
/* core/store/schema/NNNN.sql */
extern const char schema_0001[], schema_0002[], schema_0003[], schema_0004[], schema_0005[], schema_0006[],
	schema_0007[], schema_0008[], schema_0009[], schema_0010[], schema_0011[], schema_0012[], schema_0013[],
	schema_0014[], schema_0015[], schema_0016[], schema_0017[], schema_0018[], schema_0019[], schema_0020[],
	schema_0021[], schema_0022[], schema_0023[], schema_0024[], schema_0025[], schema_0026[], schema_0027[],
	schema_0028[];
