/* SPDX-License-Identifier: MIT */
/* Common parts of the rows of the command table: choices, arguments, parts of help and of views. */
#pragma once

#include "judge/capture.h"
#include "session/command.h"

static const char *const modes[] = {"ranked", "test", "benchmark", "profile", "leaderboard", NULL};
static const char *const states[] = {"queued", "running", "passed", "failed", "timed_out", "error", "cancelled", NULL};
static const char *const profiles[] = {"public", "hidden", NULL};
static const char *const roles[] = {"user", "creator", "admin", NULL};
static const char *const formats[] = {"jsonl", "csv", NULL};
static const char *const plan_modes[] = {"ranked", "test", "benchmark", "profile", NULL};
static const char *const rate_categories[] = {"test", "leaderboard", NULL};
static const char *const visibilities[] = {"public", "closed", NULL};
static const char *const code_settings[] = {"owner", "ended", "always", NULL};
static const char *const pictures[] = {"svg", "png", NULL};
static const char *const yes_or_no[] = {"yes", "no", NULL};
static const char *const completed[] = {"board", "device", "submission", NULL};
static const char *const kernel_bases[] = {"function", "demangled", "mangled", NULL};
static const char *const after_deadline[] = {"closed", "practice", NULL};
#define OPENS_HELP \
	"when it opens; before that, only its creator and admins see it. A date (its beginning in UTC), a date and time, " \
	"+30d, +12h, +90m, or none"
#define AFTER_DEADLINE_HELP "submissions after the deadline: refused (closed), or run without a rank (practice)"

/* The first members of an argument, or all of them. */
#define POSITIONAL(name, type) name, ARGUMENT_##type, .required = true, .positional = true
#define FLAG(name) name, ARGUMENT_BOOL, .default_value = "false"
/* Other clients say `--gpu` for a device. */
#define DEVICE "device", ARGUMENT_DEVICE, .alias = "gpu", .meta = "DEVICE"
#define DEVICES DEVICE, .repeated = true
#define BOARD "leaderboard", ARGUMENT_BOARD, .meta = "NAME"
#define BOARD_NAME POSITIONAL("name", BOARD), .meta = "NAME", .help = "the leaderboard"
#define USER_HELP "the user's name, #NUMBER, or PROVIDER:SUBJECT such as discord:123"
#define USER_NAME POSITIONAL("name", USER), .meta = "NAME", .help = USER_HELP
#define SUBMISSION_ID POSITIONAL("id", ID), .meta = "ID", .help = "the number of the submission"
#define OWN_SUBMISSION_ID \
	"id", ARGUMENT_ID, .default_value = COMMAND_LATEST, .positional = true, .meta = "ID", \
					   .help = "the number of the submission, or latest: your last one"
#define INVITE_CODE POSITIONAL("code", STRING), .meta = "CODE", .help = "the code of the invite"
#define UNITS \
	POSITIONAL("unit", STRING), .named = true, .repeated = true, .meta = "UNIT", \
								.help = "a unit (`H100.1`), or a device: all its units"
#define MODE "mode", ARGUMENT_CHOICE, .choices = modes, .last_means = "ranked"
#define RUN_MODE MODE, .default_value = "ranked", .help = "what to run; leaderboard is an alias of ranked"
/* The scope of a profile, see judge/capture.h. */
#define CAPTURE \
	{"benchmark", ARGUMENT_INT, .repeated = true, .max = INT32_MAX, .meta = "N", \
		.help = "for a profile: the index of a benchmark of the task, from 0; default: all"}, \
		{"kernel", ARGUMENT_STRING, .meta = "NAME", \
			.help = "for a profile: only kernels with this name, or with names that match regex:EXPRESSION"}, \
		{"kernel_base", ARGUMENT_CHOICE, .choices = kernel_bases, \
			.help = "what the name is compared with; default: function, the name without namespace and arguments"}, \
		{"launches", ARGUMENT_INT, .min = 1, .max = CAPTURE_MAX_LAUNCHES, .meta = "N", \
			.help = "for a profile: show at most N kernel launches; default: 10 with Nsight Compute, otherwise all"}, \
	{ \
		"skip", ARGUMENT_INT, .max = CAPTURE_MAX_SKIP, .meta = "N", .help = "for a profile: skip the first N launches" \
	}
#define NO_WAIT FLAG("no_wait"), .help = "return at once; the running `kettle serve` judges the submission"
#define LIMIT(initial, most) \
	"limit", ARGUMENT_INT, .default_value = initial, .min = 1, .max = most, .meta = "N", .help = "show at most N"
#define BEFORE \
	"before", ARGUMENT_INT, .min = 1, .max = EXPORT_MAX_ID, .meta = "ID", \
							.help = "only submissions with lower numbers; default: from the newest"
#define OFFSET "offset", ARGUMENT_INT, .default_value = "0", .max = INT32_MAX, .meta = "N", .help = "skip the first N"
#define TASK_LANG \
	"lang", ARGUMENT_STRING, .meta = "LANG", .help = "the language of a single reference file, if its name fits several"

#define HARNESS \
	"harness", ARGUMENT_CHOICE, \
		.choices = (const char *const[]){"kettle", NULL}, \
		.help = "kettle: Kettle's harness judges a task in KernelBot's form, in place of the task's own"
#define NO_TRY FLAG("no_try"), .help = "do not try the task on the devices first"

#define TASK_CHOOSE \
	FLAG("choose"), \
		.help = "if several languages fit a reference file: use the first one and list all, in place of an error"
#define TASK_DEVICES DEVICES, .help = "a device that the task runs on; default: the task's, otherwise all"

#define JIT_CACHE_HELP \
	"no: each run starts with empty compiler caches, whatever the task says; yes: unless the task says no"

/* Parts of views. */
#define DEADLINE "{deadline?{deadline:time}|none}"
/* The present values of a leaderboard's changed settings. */
#define BOARD_VALUES \
	"{changes=deadline?\n  deadline: {leaderboard.deadline?{leaderboard.deadline:time}|none}}" \
	"{changes=opens?\n  opens: {leaderboard.opens?{leaderboard.opens:time}|at once}}" \
	"{changes=devices?\n  devices: {leaderboard.gpu_types}}" \
	"{changes=visibility?\n  visibility: {leaderboard.visibility}}" \
	"{changes=code_visibility?\n  code visibility: {leaderboard.code}}" \
	"{changes=jit_cache?\n  jit cache: {leaderboard.jit_cache}}" \
	"{changes=after_deadline?\n  after the deadline: {leaderboard.after_deadline}}"
#define IDENTITIES "{identities@{provider} {name}}"
/* A user with everything that a merge gives away. */
#define WHOLE_USER "{*user_name} (" IDENTITIES "; role: {role}; {submissions} submission{submissions#|s})"
#define MERGED "{from@" WHOLE_USER "} is merged into {into@" WHOLE_USER "}."
#define MADE "{made? (created: the identity was not known before)}"
#define ACCEPTING "{accepts_jobs?Submissions are accepted.|No submissions are accepted until `kettle admin resume`.}"
#define OBSTACLES \
	"{obstacles@@\n{unit} {cause=operator?has waited for its operator|has been out of reach} since {since:time}: " \
	"{error}}"
#define CHANGED "{unit}: {state=failed?stays disabled: {!error}|{state}}"
