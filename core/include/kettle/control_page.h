/* SPDX-License-Identifier: MIT */
/*
 * The memory that referee and solver of a step share (KETTLE_SHM_FD), as Kettle's harnesses use it: docs/protocol.md,
 * "The control page", has the rules. For drivers of other languages; Kettle's own in Python is tasks/harness/exchange.py.
 */
#ifndef KETTLE_CONTROL_PAGE_H
#define KETTLE_CONTROL_PAGE_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define KETTLE_CONTROL_MAGIC "KETTLE\0\1" /* 8 bytes, without the NUL behind them */
#define KETTLE_CONTROL_PAGE_BYTES 4096
#define KETTLE_CONTROL_MAX_TABLE (UINT64_C(64) << 20) /* bytes */

/* Numbers are unsigned, in the machine's order; places are bytes from the beginning of the memory. */

/* Written once, by the referee, before its first message. */
struct kettle_control_head {
	char magic[8];
	uint64_t inputs;      /* where the inputs begin, */
	uint64_t outputs;     /* and end, and the outputs begin, */
	uint64_t outputs_end; /* and end */
	uint64_t reserved[4]; /* 0 */
};

/* Written by the referee before KETTLE_CONTROL_LOAD. */
struct kettle_control_input {
	uint64_t structure, structure_bytes;
	uint64_t buffers, buffers_count; /* a list of struct kettle_control_buffer */
	uint64_t structure_late;         /* 1: the structure is there only from KETTLE_CONTROL_GO on */
	uint64_t reserved[3];
};
struct kettle_control_buffer {
	uint64_t place, bytes;
};

/*
 * Written by the solver before it answers KETTLE_CONTROL_GO, _PROFILE or _FACTS. The referee copies it once and believes
 * nothing of it.
 */
struct kettle_control_answer {
	uint8_t nonce[8]; /* of the message that is answered */
	uint64_t status;  /* enum kettle_control_status */
	uint64_t table, table_bytes;
	uint64_t reserved[4];
};

/* The page. Each part is a cache line of its own. */
struct kettle_control_page {
	struct kettle_control_head head;
	struct kettle_control_input input;
	struct kettle_control_answer answer;
};

enum kettle_control_status { KETTLE_CONTROL_RETURNED = 1, KETTLE_CONTROL_RAISED = 2 };

/* The referee's message, on the first of two pipes. The solver answers on the second, with the nonce alone. */
enum kettle_control_what {
	KETTLE_CONTROL_LOAD = 1,    /* make views of the input, and wait: its buffers are not written yet */
	KETTLE_CONTROL_GO = 2,      /* call the submission */
	KETTLE_CONTROL_PROFILE = 3, /* the same, under a profiler */
	KETTLE_CONTROL_FACTS = 4    /* tell what is loaded */
};
struct kettle_control_message {
	uint64_t what; /* enum kettle_control_what */
	uint8_t nonce[8];
};

#ifdef __cplusplus
}
#endif

#endif
