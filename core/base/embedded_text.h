/* SPDX-License-Identifier: MIT */
/* Text files of the tree that libcore carries inside (build-aux/embed.awk). */
#pragma once

extern const char competition_schema[]; /* core/task/competition.schema.json */
extern const char task_schema[];        /* core/task/task.schema.json */
extern const char plan_schema[];        /* core/exec/plan/plan.schema.json */
extern const char schema_0001[];        /* core/store/schema/0001.sql */
extern const char schema_0002[];        /* core/store/schema/0002.sql */
extern const char schema_0003[];        /* core/store/schema/0003.sql */
extern const char schema_0004[];        /* core/store/schema/0004.sql */
extern const char schema_0005[];        /* core/store/schema/0005.sql */
extern const char schema_0006[];        /* core/store/schema/0006.sql */
extern const char schema_0007[];        /* core/store/schema/0007.sql */
extern const char schema_0008[];        /* core/store/schema/0008.sql */
extern const char schema_0009[];        /* core/store/schema/0009.sql */
extern const char schema_0010[];        /* core/store/schema/0010.sql */
extern const char schema_0011[];        /* core/store/schema/0011.sql */
extern const char schema_0012[];        /* core/store/schema/0012.sql */
extern const char schema_0013[];        /* core/store/schema/0013.sql */
extern const char schema_0014[];        /* core/store/schema/0014.sql */
extern const char schema_0015[];        /* core/store/schema/0015.sql */
extern const char schema_0016[];        /* core/store/schema/0016.sql */
extern const char schema_0017[];        /* core/store/schema/0017.sql */
extern const char schema_0018[];        /* core/store/schema/0018.sql */
extern const char schema_0019[];        /* core/store/schema/0019.sql */
extern const char schema_0020[];        /* core/store/schema/0020.sql */
extern const char schema_0021[];        /* core/store/schema/0021.sql */
extern const char schema_0022[];        /* core/store/schema/0022.sql */
extern const char schema_0023[];        /* core/store/schema/0023.sql */
extern const char schema_0024[];        /* core/store/schema/0024.sql */
extern const char schema_0025[];        /* core/store/schema/0025.sql */
extern const char schema_0026[];        /* core/store/schema/0026.sql */
extern const char schema_0027[];        /* core/store/schema/0027.sql */
extern const char schema_0028[];        /* core/store/schema/0028.sql */
