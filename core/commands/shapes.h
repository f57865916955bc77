/* SPDX-License-Identifier: MIT */
/* Common parts of answers: words and objects. A section per file of rows; parts that two of them use come first. */
#pragma once

#include "base/cleanup.h"
#include "base/gpu_fitness.h"
#include "base/ranking_columns.h"
#include "commands/command_parts.h"
#include "judge/judging.h"
#include "judge/report.h"
#include "model/board.h"
#include "model/settings.h"
#include "session/shape.h"

#include <kettle/runner.h>

/* The cause of a run that did not pass: participant, task, machine or operator; see docs/protocol.md. */
static const char *const faults[] = {"participant", "task", "machine", "operator", NULL};
/* The stage at which it ended. */
static const char *const stages[] = {
	"queue", "prepare", "build", "test", "benchmark", "ranked", "secret", "profile", "record", NULL};

/* The distance by which the true score may differ. */
#define INTERVAL \
	MEMBER("low", SHAPE_NUMBER, .unit = "s", .null = true, .help = "where the 95 % interval of the score begins"), \
		MEMBER("high", SHAPE_NUMBER, .unit = "s", .null = true)
#define LIMIT_HELP \
	"the least time, by the work that the task states and the peak of the device; missing where one of them is not " \
	"known"
#define SCORE MEMBER("score", SHAPE_NUMBER, .unit = "s", .null = true), INTERVAL
#define STATUS(word) MEMBER("status", SHAPE_STRING, .choices = (const char *const[]){word, NULL})
static const char *const obstacle_causes[] = {"unreachable", "operator", "unfit", NULL};
/* base/gpu_fitness.h */
static const char *const unfit_causes[] = {
#define X(name, word, text) word,
	GPU_UNFIT_CAUSES(X)
#undef X
		NULL};
static const char *const gpu_remarks[] = {
#define X(name, word, text) word,
	GPU_REMARKS(X)
#undef X
		NULL};
static const struct shape obstacle_shape[] = {MEMBER("unit", SHAPE_STRING),
	MEMBER("cause", SHAPE_STRING, .choices = obstacle_causes,
		.help = "operator: no job runs on the unit until the operator corrects the fault; unfit: no ranked job runs "
				"until its GPU is fit to score"),
	MEMBER("since", SHAPE_TIME), MEMBER("error", SHAPE_STRING),
	MEMBER("causes", ARRAY(SHAPE_STRING, .choices = unfit_causes), .optional = true, .help = "why it is unfit"), {0}};
#define OBSTACLE SHARED("obstacle", obstacle_shape)

/* ---- leaderboards ---- */

static const char *const board_changes[] = {"task", "deadline", "devices", "visibility", "code_visibility", "jit_cache",
	"after_deadline", "opens", "description", "name", NULL};
static const char *const earlier_scores[] = {"kept", "left", NULL};
static const char *const template_sources[] = {"template", "skeleton", NULL};

#define VERSION_HELP \
	"grows with every change of what `leaderboard.show` answers, except where another peak of a device in the " \
	"configuration changes `limit` and `share`"
static const char *const harnesses[] = {"task", "kettle", NULL};
static const char *const judging_kinds[] = {JUDGING_KINDS, NULL};
static const char *const judgings[] = {
#define X(word, open) word,
	JUDGINGS(X)
#undef X
		NULL};
#define JUDGING_HELP \
	"referee: a process that never has the submission; one process: that of the submission; own harness: as the " \
	"task's own harness does it"
/* harness: which of both judges; judging: where, by kind of device. */
#define JUDGING(...) \
	MEMBER("harness", SHAPE_STRING, .choices = harnesses, \
		.help = "task: the harness among the task's files; kettle: Kettle's in its place", __VA_ARGS__), \
		MEMBER("judging", \
			ARRAY(OBJECT(MEMBER("kind", SHAPE_STRING, .choices = judging_kinds, .help = "of device"), \
				MEMBER("by", SHAPE_STRING, .choices = judgings, .help = JUDGING_HELP), \
				MEMBER("open", SHAPE_STRING, \
					.help = "what a submission may still do, as part of a sentence; see docs/tasks.md"))), \
			.help = "where outputs are checked and timed", __VA_ARGS__)
/* A leaderboard as board_object has it. missing: whether the task may be. */
#define LEADERBOARD(missing) \
	MEMBER("id", SHAPE_INT), MEMBER("name", SHAPE_STRING), MEMBER("description", SHAPE_STRING), \
		MEMBER( \
			"task", SHAPE_ANY, .optional = (missing), .help = "its task.yml with all defaults, see task.schema.json"), \
		MEMBER("deadline", SHAPE_TIME, .null = true), \
		MEMBER("gpu_types", ARRAY(SHAPE_STRING), .help = "the devices of the leaderboard"), \
		MEMBER("visibility", SHAPE_STRING, .choices = visibilities), \
		MEMBER("code", SHAPE_STRING, .choices = code_settings, .help = "who may read the code of a submission"), \
		MEMBER("jit_cache", SHAPE_STRING, .choices = yes_or_no), \
		MEMBER("after_deadline", SHAPE_STRING, .choices = after_deadline), \
		MEMBER("creator", SHAPE_STRING, .help = "the user's name"), MEMBER("created", SHAPE_TIME), \
		MEMBER("opens", SHAPE_TIME, .null = true), \
		MEMBER("ended", SHAPE_BOOL, .help = "whether its deadline has passed"), JUDGING(.optional = false)
#define REMARKS MEMBER("remarks", ARRAY(SHAPE_STRING), .help = "sentences about the task and the deadline")
static const struct shape leaderboard_shape[] = {LEADERBOARD(false), {0}};
#define RATE_LIMIT \
	MEMBER("category", SHAPE_STRING, .choices = rate_categories), \
		MEMBER("device", SHAPE_STRING, .null = true, .help = "null: of all devices together"), \
		MEMBER("per_hour", SHAPE_INT)
static const struct shape rate_limits_shape[] = {
	MEMBER("leaderboard", SHAPE_STRING), MEMBER("limits", ARRAY(OBJECT(RATE_LIMIT))), {0}};
#define ENTRY(name, type, best, run, shape, ...) MEMBER(#name, RANKING_UNPACK shape),
static const struct shape ranking_entry_shape[] = {RANKING_COLUMNS(ENTRY, ENTRY){0}};
/* The columns of its table; the rest of the array is zeros, which end it. */
#define NO_PLACE(...)
#define IN_PLACE(name, type, best, run, shape, in, place, ...) [place - 1] = __VA_ARGS__,
static const struct view_column ranking_view[ARRAY_SIZE(ranking_columns) + 1] = {RANKING_COLUMNS(NO_PLACE, IN_PLACE)};
static const struct shape contents_shape[] = {MEMBER("text", SHAPE_STRING, .optional = true),
	MEMBER("base64", SHAPE_STRING, .optional = true, .help = "in place of `text`, for contents that are not text"),
	{0}};

/* ---- submissions ---- */

/* Modes of runs; a ranked one has KernelBot's word. */
static const char *const run_modes[] = {"test", "benchmark", "profile", "leaderboard", NULL};
#define VERDICTS "passed", "failed", "timed_out", "error"
static const char *const run_states[] = {VERDICTS, NULL};
/* KernelBot's words. */
static const char *const statuses[] = {
	"initial", "pending", "running", "succeeded", "failed", "timed_out", "hacked", NULL};
static const char *const compared_runs[] = {"ranked", "benchmark", NULL};
static const char *const open_states[] = {"queued", "running", NULL};
/* States of a rerun that say nothing about the code. */
static const char *const undecided_states[] = {"error", "cancelled", NULL};

static const char *const losses[] = {
#define X(name, word, text) word,
	KETTLE_LOSSES(X)
#undef X
		NULL};

/* With further members that all three have. */
#define OUTCOME_WITH(...) \
	MEMBER("fault", SHAPE_STRING, .choices = faults, .null = true, .help = "who is at fault if the run did not pass", \
		__VA_ARGS__), \
		MEMBER("stage", SHAPE_STRING, .choices = stages, .null = true, .help = "the stage at which the run ended", \
			__VA_ARGS__), \
		MEMBER("retriable", SHAPE_BOOL, .help = "whether another attempt with the same file may pass", __VA_ARGS__)
#define OUTCOME OUTCOME_WITH(.optional = false)

#define SUBMITTED \
	MEMBER("id", SHAPE_INT), MEMBER("leaderboard", SHAPE_STRING), MEMBER("mode", SHAPE_STRING, .choices = plan_modes), \
		MEMBER("devices", ARRAY(SHAPE_STRING)), \
		MEMBER("jobs", ARRAY(OBJECT(MEMBER("job", SHAPE_INT), MEMBER("device", SHAPE_STRING))), \
			.help = "one of each device")

/* A submission of submission.list. */
#define LISTED_SUBMISSION \
	MEMBER("id", SHAPE_INT), MEMBER("leaderboard_name", SHAPE_STRING), MEMBER("file_name", SHAPE_STRING), \
		MEMBER("submission_time", SHAPE_TIME), MEMBER("done", SHAPE_BOOL), \
		MEMBER("mode", SHAPE_STRING, .choices = plan_modes), MEMBER("state", SHAPE_STRING, .choices = states), \
		MEMBER("practice", SHAPE_BOOL, .help = "whether the submission is not ranked"), \
		MEMBER("note", SHAPE_STRING, .null = true, .help = "for its owner"), MEMBER("user_name", SHAPE_STRING), \
		MEMBER("flagged", SHAPE_STRING, .null = true, .help = "the reason of a mark as a cheat; null: no mark"), \
		MEMBER("runs", \
			ARRAY(OBJECT(MEMBER("gpu_type", SHAPE_STRING, .help = "the device"), \
				MEMBER("score", SHAPE_NUMBER, .unit = "s", .null = true), \
				MEMBER("state", SHAPE_STRING, .choices = states), OUTCOME)), \
			.help = "for each device the job that counts")

/* The members after a and b, which are compared. */
#define CHANGE \
	MEMBER("percent", SHAPE_NUMBER, .unit = "%", .null = true, .help = "by how much b exceeds a"), \
		MEMBER("significant", SHAPE_BOOL, .null = true, \
			.help = "whether the difference exceeds the combined error of both; null: one of them has no interval")

/* A file that a job left. */
#define LEFT_FILE \
	MEMBER("name", SHAPE_STRING), MEMBER("size", SHAPE_INT, .unit = "bytes"), MEMBER("sha256", SHAPE_STRING)
#define EXPIRED MEMBER("expired", SHAPE_TIME, .null = true, .help = "when Kettle removed the file")

static const struct shape capture_shape[] = {
	MEMBER("benchmarks", ARRAY(SHAPE_INT), .optional = true, .help = "indexes of the task's benchmarks, from 0"),
	MEMBER("kernel", SHAPE_STRING, .optional = true, .help = "a name, or regex: and an expression"),
	MEMBER("kernel_base", SHAPE_STRING, .choices = kernel_bases, .optional = true,
		.help = "which form of a kernel's name is compared"),
	MEMBER("launches", SHAPE_INT, .optional = true, .help = "how many launches are shown"),
	MEMBER("skip", SHAPE_INT, .optional = true, .help = "how many launches are skipped first"),
	{0},
};

/* A step that is not a run, in verdict.h's form. */
static const struct shape build_step_shape[] = {
	MEMBER("title", SHAPE_STRING),
	MEMBER("command", SHAPE_STRING, .null = true),
	MEMBER("passed", SHAPE_BOOL),
	MEMBER("state", SHAPE_STRING, .choices = run_states),
	MEMBER("exit", SHAPE_INT, .null = true),
	MEMBER("message", SHAPE_STRING, .null = true, .help = "why it did not pass"),
	MEMBER("stdout", SHAPE_STRING),
	MEMBER("stderr", SHAPE_STRING),
	MEMBER("wall_ns", SHAPE_INT, .unit = "ns", .null = true),
	MEMBER("cached", SHAPE_BOOL),
	{0},
};

/* A part of a job's time; see timing.h. */
#define PART(name, ...) MEMBER(name "_ns", SHAPE_INT, .unit = "ns", .optional = true, __VA_ARGS__)
static const struct shape timing_shape[] = {
	MEMBER("stamps", MAP(SHAPE_ANY), .help = "times by the machine's clock; empty if the job has secret runs"),
	MEMBER("build_ns", SHAPE_INT, .unit = "ns", .help = "of all steps except runs"),
	MEMBER("run_ns", SHAPE_INT, .unit = "ns", .help = "of all public runs"),
	MEMBER("parts",
		OBJECT(PART("wait", .help = "for the device, or for a turn to build"), PART("build"), PART("prepare"),
			PART("start", .help = "making the folders and sandboxes of runs"),
			PART("compile", .help = "compilers that the programs of runs started"),
			PART("run", .help = "the programs of runs, without their compilers"),
			PART("collect", .help = "collecting outputs and removing sandboxes"), PART("other"),
			PART("earlier", .help = "attempts that gave no verdict"), PART("queue"),
			PART("plan", .help = "storing the start of the job and making its plan"),
			PART("transfer", .help = "to the machine and back"),
			PART("record", .help = "storing the verdict; present a moment after the verdict")),
		.help = "the parts follow one another; no part contains the time of secret runs"),
	MEMBER("steps",
		ARRAY(
			OBJECT(MEMBER("step", SHAPE_STRING), MEMBER("title", SHAPE_STRING, .optional = true, .help = "for people"),
				MEMBER("kind", SHAPE_STRING, .help = "build, prepare or run"), MEMBER("cached", SHAPE_BOOL),
				MEMBER("at_ns", SHAPE_INT, .unit = "ns", .help = "from the arrival of the job at the machine"),
				MEMBER("wait_ns", SHAPE_INT, .unit = "ns"), MEMBER("start_ns", SHAPE_INT, .unit = "ns"),
				MEMBER("run_ns", SHAPE_INT, .unit = "ns"), MEMBER("total_ns", SHAPE_INT, .unit = "ns"))),
		.help = "without secret runs"),
	{0},
};

#define DETAIL(name, ...) MEMBER(name, __VA_ARGS__, .optional = true)
/* The members that only a public run has, in verdict.h's form. */
#define RUN_DETAIL \
	DETAIL("index", SHAPE_INT, .null = true, .help = "for a profile: the index of the benchmark"), \
		DETAIL("message", SHAPE_STRING, .null = true, .help = "why it did not pass"), \
		DETAIL("wall_ns", SHAPE_INT, .unit = "ns", .null = true), \
		DETAIL("exit", SHAPE_INT, .null = true, .help = "the exit status; 114 if the run timed out"), \
		DETAIL("signal", SHAPE_INT, .null = true), \
		DETAIL( \
			"limit", SHAPE_STRING, .null = true, .help = "the limit that the run exceeded, as in event.schema.json"), \
		DETAIL("limit_value", SHAPE_NUMBER, .help = "the value of the limit, if known: seconds, bytes or a count"), \
		DETAIL("memory_peak", SHAPE_INT, .unit = "bytes", .null = true), DETAIL("stdout", SHAPE_STRING), \
		DETAIL("stderr", SHAPE_STRING), DETAIL("command", SHAPE_STRING, .null = true), \
		DETAIL("warm", SHAPE_BOOL, .help = "whether the run started from a warm interpreter"), \
		DETAIL("prepared", SHAPE_BOOL, .help = "whether its GPU was opened before the run was known"), \
		DETAIL("system", MAP(SHAPE_ANY), \
			.help = "gpu, count, cpu, runtime, platform, torch and host, as far as they are known"), \
		DETAIL("device", MAP(SHAPE_ANY), \
			.help = "for a GPU: clocks, throttling, and whether it was fit to score, as kettle-exec reports them"), \
		DETAIL("jit", MAP(SHAPE_ANY), \
			.help = \
				"for a task with a cache of compilers: what compilers left in the cache, as kettle-exec reports it"), \
		DETAIL("built", \
			ARRAY(OBJECT( \
				MEMBER("kind", SHAPE_STRING, .choices = report_built_kinds, \
					.help = "triton: a kernel of Triton, also one that torch.compile made; graph: a graph of " \
							"torch.compile; extension: an inline extension"), \
				MEMBER("ready", SHAPE_INT, .help = "how many were there when the run began"), \
				MEMBER("device", SHAPE_INT, .help = "how many the run built while it had the device"), \
				MEMBER("reasons", ARRAY(SHAPE_STRING, .choices = report_built_reasons), .help = "why (tasks.md)"))), \
			.help = "for a GPU: what compilers built, as the process with the submission says"), \
		DETAIL("limits", \
			ARRAY(OBJECT(MEMBER("limit", SHAPE_NUMBER, .unit = "s", \
							 .help = "the least time, by the work that the task states and the peak of the device; " \
									 "never missing: the list ends at the first benchmark without a limit or a time"), \
				MEMBER("share", SHAPE_NUMBER, .help = "`limit` divided by the mean"))), \
			.help = "of the benchmarks of a timed run, in their order"), \
		DETAIL("cut", ARRAY(SHAPE_ANY), .help = "what the machine left out of its report"), \
		DETAIL("artifacts_cut", SHAPE_STRING, .help = "why the machine left out the files"), \
		DETAIL("result", MAP(SHAPE_STRING), .help = "what the harness reported"), \
		DETAIL( \
			"remarks", ARRAY(SHAPE_STRING), .help = "times that contradict each other, and what to know of the GPU")

/* A secret run has only mode, secret, passed and score. */
static const struct shape run_shape[] = {
	MEMBER("mode", SHAPE_STRING, .choices = run_modes),
	MEMBER("secret", SHAPE_BOOL, .help = "true: only mode, passed and score are present"),
	MEMBER("passed", SHAPE_BOOL),
	MEMBER("score", SHAPE_NUMBER, .unit = "s", .null = true),
	DETAIL("low", SHAPE_NUMBER, .unit = "s", .null = true),
	DETAIL("high", SHAPE_NUMBER, .unit = "s", .null = true),
	DETAIL("state", SHAPE_STRING, .choices = run_states),
	DETAIL("start_time", SHAPE_TIME),
	DETAIL("end_time", SHAPE_TIME),
	RUN_DETAIL,
	{0},
};

/* A job of submission.show. Members that are optional although its owner always gets them are hidden from others. */
static const struct shape job_shape[] = {
	MEMBER("job", SHAPE_INT),
	MEMBER("device", SHAPE_STRING),
	MEMBER("state", SHAPE_STRING, .choices = states),
	SCORE,
	DETAIL("limit", SHAPE_NUMBER, .unit = "s", .help = LIMIT_HELP),
	DETAIL("share", SHAPE_NUMBER, .help = "`limit` divided by the score"),
	DETAIL("error", SHAPE_STRING, .null = true, .help = "why it did not pass"),
	OUTCOME_WITH(.optional = true),
	DETAIL("attempt", SHAPE_INT, .help = "0: none has begun"),
	DETAIL("loss", SHAPE_STRING, .choices = losses, .null = true, .help = "how the last lost attempt was lost"),
	DETAIL("waits", SHAPE_STRING, .null = true, .help = "why the device cannot run the job now"),
	DETAIL("obstacle", OBSTACLE, .help = "what the device waits for"),
	DETAIL("place", SHAPE_INT, .help = "for a queued job: the number of jobs before it"),
	DETAIL("length", SHAPE_INT, .help = "for a queued job: the number of jobs in the queue"),
	DETAIL("wait_s", SHAPE_INT, .unit = "s", .help = "the expected wait, if Kettle can estimate it"),
	DETAIL("unit", SHAPE_STRING, .null = true, .help = "where it runs or ran"),
	DETAIL("runner", SHAPE_STRING, .null = true),
	DETAIL("queued", SHAPE_TIME),
	DETAIL("started", SHAPE_TIME, .null = true),
	DETAIL("ended", SHAPE_TIME, .null = true),
	DETAIL("changed", SHAPE_TIME),
	DETAIL("rerun", SHAPE_BOOL, .help = "whether the job is a rerun; until it ends, the earlier job counts"),
	DETAIL("rerun_failed",
		OBJECT(MEMBER("job", SHAPE_INT), MEMBER("state", SHAPE_STRING, .choices = undecided_states),
			MEMBER("error", SHAPE_STRING, .null = true), OUTCOME, MEMBER("ended", SHAPE_TIME)),
		.help = "the last rerun, if it gave no verdict"),
	DETAIL("compilation", ARRAY(SHARED("build_step", build_step_shape)), .null = true,
		.help = "all steps except runs; null: no step was carried out"),
	DETAIL("system", MAP(SHAPE_ANY), .null = true, .help = "what the machine reported about itself"),
	DETAIL("timing", SHARED("timing", timing_shape), .null = true,
		.help = "how the time from acceptance to verdict was spent"),
	MEMBER("runs", ARRAY(SHARED("run", run_shape))),
	MEMBER("artifacts", ARRAY(OBJECT(MEMBER("id", SHAPE_INT, .help = "for `submission.artifact`"),
							MEMBER("step", SHAPE_STRING), LEFT_FILE, EXPIRED))),
	MEMBER("rank",
		OBJECT(MEMBER("rank", SHAPE_INT), MEMBER("of", SHAPE_INT, .help = "how many are ranked"),
			MEMBER("before", SHAPE_INT, .null = true, .help = "the user's rank before this job; null: not known"),
			MEMBER("previous_score", SHAPE_NUMBER, .unit = "s", .null = true, .help = "likewise")),
		.null = true, .help = "if this job is the user's best"),
	MEMBER("better",
		OBJECT(MEMBER("submission", SHAPE_INT), MEMBER("score", SHAPE_NUMBER, .unit = "s"), MEMBER("rank", SHAPE_INT),
			MEMBER("of", SHAPE_INT),
			DETAIL("user_name", SHAPE_STRING, .help = "the owner of both submissions, in answers to other users")),
		.null = true, .help = "the user's best submission, if this job counts and is not the best"),
	{0},
};

static const struct shape compared_submission_shape[] = {
	MEMBER("id", SHAPE_INT),
	MEMBER("leaderboard_name", SHAPE_STRING),
	MEMBER("file_name", SHAPE_STRING),
	MEMBER("user_name", SHAPE_STRING),
	MEMBER("submission_time", SHAPE_TIME),
	MEMBER("mode", SHAPE_STRING, .choices = plan_modes),
	MEMBER("state", SHAPE_STRING, .choices = states),
	MEMBER("practice", SHAPE_BOOL),
	{0},
};
static const struct shape compared_score_shape[] = {MEMBER("state", SHAPE_STRING, .choices = states), SCORE, {0}};
static const struct shape compared_time_shape[] = {
	MEMBER("mean", SHAPE_NUMBER, .unit = "s"),
	MEMBER("low", SHAPE_NUMBER, .unit = "s", .null = true),
	MEMBER("high", SHAPE_NUMBER, .unit = "s", .null = true),
	{0},
};

/* ---- users ---- */

static const char *const token_kinds[] = {"token", "session", NULL};
/* Credentials among the stored data of a user. */
static const char *const credential_kinds[] = {"token", "session", "link", NULL};

/* The first members of entries about a user. */
#define NAMED_USER MEMBER("user_id", SHAPE_STRING, .help = "the user's number"), MEMBER("user_name", SHAPE_STRING)
#define MADE_USER NAMED_USER, MEMBER("made", SHAPE_BOOL, .help = "true: the identity is new")
#define USER_MEMBERS \
	NAMED_USER, MEMBER("role", SHAPE_STRING, .choices = roles), MEMBER("created", SHAPE_TIME), \
		MEMBER("banned", SHAPE_TIME, .null = true, .help = "since when"), \
		MEMBER("ban_reason", SHAPE_STRING, .null = true), MEMBER("submissions", SHAPE_INT, .help = "how many")
/* The members that the user also sees. */
#define OWN_USER_MEMBERS \
	USER_MEMBERS, \
		MEMBER("identities", ARRAY(OBJECT(MEMBER("provider", SHAPE_STRING), MEMBER("subject", SHAPE_STRING), \
								 MEMBER("name", SHAPE_STRING), MEMBER("created", SHAPE_TIME)))), \
		MEMBER("merged", ARRAY(SHAPE_STRING), .help = "names of users who were merged into this one"), \
		MEMBER("profile", SHAPE_STRING, .choices = profiles, \
			.help = "hidden: `user.page` shows other users only the name"), \
		MEMBER("ranks", ARRAY(OBJECT(MEMBER("leaderboard", SHAPE_STRING), MEMBER("device", SHAPE_STRING), \
							MEMBER("score", SHAPE_NUMBER, .unit = "s"), MEMBER("rank", SHAPE_INT), \
							MEMBER("of", SHAPE_INT, .help = "how many are ranked"))))
#define CANCELLED MEMBER("cancelled", ARRAY(SHAPE_INT), .help = "the submissions whose jobs were cancelled")

static const struct shape user_shape[] = {USER_MEMBERS,
	MEMBER("identities", ARRAY(OBJECT(MEMBER("provider", SHAPE_STRING), MEMBER("name", SHAPE_STRING)))), {0}};

/* ---- the engine ---- */

static const char *const unit_states[] = {
	"idle", "building", "running", "waiting", "paused", "disabled", "removed", NULL};
static const char *const unit_causes[] = {
#define X(name, word) word,
	UNIT_CAUSES(X)
#undef X
		NULL};
static const char *const disabled_states[] = {"disabled", NULL};
static const char *const enabled_states[] = {"ready", "failed", NULL};
static const char *const beyond_budget[] = {"wait", "refuse", NULL};
static const char *const sandbox_levels[] = {"full", "reduced", "off", NULL};
static const char *const gpu_vendors[] = {"nvidia", "amd", NULL};
static const char *const warm_states[] = {"starting", "ready", "failed", NULL};
static const char *const calibration_states[] = {"calibrated", "already", "failed", NULL};
static const char *const verified_states[] = {"passed", "failed", NULL};
static const char *const tried_states[] = {"passed", "failed", "skipped", NULL};
static const char *const written_states[] = {"created", "replaced", "unchanged", NULL};
static const char *const remote_states[] = {"waiting", "running", NULL};

#define ACCEPTS STATUS("ok"), MEMBER("accepts_jobs", SHAPE_BOOL, .help = "whether submissions are accepted")

/* The first members of results on a unit. */
#define NAMED_UNIT MEMBER("device", SHAPE_STRING), MEMBER("unit", SHAPE_STRING)
#define WHY_FAILED MEMBER("error", SHAPE_STRING, .optional = true)
/* Calibrator → its time. */
#define CALIBRATOR_TIMES MAP(SHAPE_NUMBER, .unit = "ns")
/* missing: whether the spreads may be missing, as in calibrations that are older than spreads. */
#define CALIBRATION(missing) \
	MEMBER("names", CALIBRATOR_TIMES, .optional = (missing), .help = "what each calibrator takes"), \
		MEMBER("spreads", MAP(SHAPE_NUMBER), .optional = true, \
			.help = "for each calibrator the spread of 95 % of the runs, as a fraction of the score"), \
		MEMBER("at", SHAPE_TIME, .optional = (missing))

/*
 * The report of kettle-gpu. A member that the GPU or its driver does not provide is missing. Momentary values (use of memory,
 * clocks, temperature, processes) are missing if the machine was not queried for this answer.
 */
static const struct shape gpu_shape[] = {MEMBER("vendor", SHAPE_STRING, .choices = gpu_vendors),
	MEMBER("index", SHAPE_INT), MEMBER("name", SHAPE_STRING, .optional = true),
	MEMBER("uuid", SHAPE_STRING, .optional = true), MEMBER("bus", SHAPE_STRING, .optional = true),
	MEMBER("minor", SHAPE_INT, .optional = true, .help = "number of an NVIDIA GPU's device file"),
	MEMBER("render", SHAPE_INT, .optional = true, .help = "number of an AMD GPU's device file"),
	MEMBER("compute", SHAPE_STRING, .optional = true, .help = "compute capability of an NVIDIA GPU"),
	MEMBER("gfx", SHAPE_STRING, .optional = true, .help = "architecture of an AMD GPU"),
	MEMBER("driver", SHAPE_STRING, .optional = true),
	MEMBER("cuda", SHAPE_STRING, .optional = true, .help = "the CUDA version of the driver"),
	MEMBER("memory", SHAPE_INT, .unit = "bytes", .optional = true),
	MEMBER("used", SHAPE_INT, .unit = "bytes", .optional = true, .help = "of its memory"),
	MEMBER("occupied", SHAPE_BOOL, .optional = true, .help = "whether more memory is used than on the idle GPU"),
	MEMBER("prepared", SHAPE_INT, .unit = "bytes", .optional = true,
		.help = "held by processes that wait for runs, of `used`"),
	MEMBER("clocks", MAP(SHAPE_INT, .unit = "MHz"), .optional = true, .help = "sm, memory, sm_max and memory_max"),
	MEMBER("temperature", SHAPE_INT, .unit = "°C", .optional = true),
	MEMBER("power_mw", SHAPE_INT, .unit = "mW", .optional = true),
	MEMBER("throttle", ARRAY(SHAPE_STRING), .optional = true, .help = "what slows the GPU now"),
	MEMBER("slowed_ns", MAP(SHAPE_INT, .unit = "ns"), .optional = true,
		.help = "how long each cause has slowed the GPU since the driver was loaded"),
	MEMBER("clocks_locked", SHAPE_BOOL, .optional = true, .help = "whether its clocks are known to be locked"),
	MEMBER("power_limit_mw", SHAPE_INT, .unit = "mW", .optional = true),
	MEMBER("power_default_mw", SHAPE_INT, .unit = "mW", .optional = true, .help = "its default power limit"),
	MEMBER("ecc", SHAPE_BOOL, .optional = true, .help = "whether errors of its memory are corrected"),
	MEMBER("ecc_corrected", SHAPE_INT, .optional = true, .help = "such errors since its driver was loaded"),
	MEMBER("ecc_uncorrected", SHAPE_INT, .optional = true),
	MEMBER("mig", SHAPE_BOOL, .optional = true, .help = "whether it is divided"),
	MEMBER("persistence", SHAPE_BOOL, .optional = true, .help = "whether its driver stays loaded"),
	MEMBER("unfit", ARRAY(SHAPE_STRING, .choices = unfit_causes), .optional = true,
		.help = "why it is not fit to score now; empty: it is. `processes` is never among them while jobs run"),
	MEMBER("remarks", ARRAY(SHAPE_STRING, .choices = gpu_remarks), .optional = true,
		.help = "what to know of scores on it"),
	MEMBER("processes",
		ARRAY(OBJECT(MEMBER("pid", SHAPE_INT), MEMBER("memory", SHAPE_INT, .unit = "bytes", .optional = true))),
		.optional = true, .help = "that use it"),
	{0}};

/* Facts of a unit from the greeting of its machine (judge/unit_facts.h). */
#define UNIT_FACTS \
	MEMBER("version", SHAPE_STRING, .optional = true, .help = "of its kettle-exec"), \
		MEMBER("level", SHAPE_STRING, .choices = sandbox_levels, .optional = true, .help = "of its sandbox"), \
		MEMBER("machine", \
			OBJECT(MEMBER("cpu", SHAPE_STRING), MEMBER("cores", SHAPE_INT), \
				MEMBER("memory", SHAPE_INT, .unit = "bytes"), MEMBER("kernel", SHAPE_STRING), \
				MEMBER("platform", SHAPE_STRING), MEMBER("host", SHAPE_STRING)), \
			.optional = true), \
		MEMBER("protections", \
			ARRAY(OBJECT(MEMBER("name", SHAPE_STRING), MEMBER("meaning", SHAPE_STRING), MEMBER("present", SHAPE_BOOL), \
				MEMBER("how", SHAPE_STRING, .null = true, .help = "how to get a protection that is not present"))), \
			.optional = true), \
		MEMBER("tools", MAP(SHAPE_STRING), .optional = true, .help = "versions"), \
		MEMBER("packages", MAP(MAP(SHAPE_STRING)), .optional = true, .help = "versions, for each interpreter"), \
		MEMBER("parts", \
			MAP(ARRAY(OBJECT(MEMBER("name", SHAPE_STRING), MEMBER("present", SHAPE_BOOL), \
				MEMBER("essential", SHAPE_BOOL, .help = "whether the compiler needs this part for every program"), \
				MEMBER("headers", ARRAY(SHAPE_STRING), .help = "beginnings of names"), \
				MEMBER("libraries", ARRAY(SHAPE_STRING), .help = "beginnings of names"), \
				MEMBER("how", SHAPE_STRING, .help = "to get it")))), \
			.optional = true, .help = "of the toolkit, for each compiler"), \
		MEMBER("warm", \
			ARRAY(OBJECT(MEMBER("tool", SHAPE_STRING), MEMBER("modules", ARRAY(SHAPE_STRING)), \
				MEMBER("recipes", ARRAY(SHAPE_STRING)), \
				MEMBER("absent", ARRAY(SHAPE_STRING), .help = "recipes whose packages are not installed"), \
				MEMBER("state", SHAPE_STRING, .choices = warm_states), MEMBER("memory", SHAPE_INT, .unit = "bytes"), \
				MEMBER("disk", SHAPE_INT, .unit = "bytes"), \
				MEMBER("runs", SHAPE_INT, .help = "runs that began with it"), \
				MEMBER("prepared", SHAPE_INT, .optional = true, \
					.help = "copies that have opened a GPU and wait for a run"))), \
			.optional = true, .help = "interpreters that are kept warm"), \
		MEMBER("gpu", SHARED("gpu", gpu_shape), .optional = true, .help = "the unit's first"), \
		MEMBER("gpus", ARRAY(SHARED("gpu", gpu_shape)), .optional = true, .help = "all of the unit"), \
		MEMBER("gpu_error", SHAPE_STRING, .optional = true, .help = "why a GPU is missing")

/* Numbers by mode and state. */
#define STATE_COUNTS MAP(MAP(SHAPE_INT))
static const struct shape histogram_shape[] = {
	MEMBER("buckets", ARRAY(OBJECT(MEMBER("le", SHAPE_NUMBER, .unit = "s", .null = true, .help = "null: any duration"),
						  MEMBER("count", SHAPE_INT, .help = "durations up to `le`")))),
	MEMBER("sum", SHAPE_NUMBER, .unit = "s"), MEMBER("count", SHAPE_INT), {0}};
#define HISTOGRAM SHARED("histogram", histogram_shape)
static const char *const ready_checks[] = {"owner", "store", "units", NULL};

/* ---- local ---- */

static const char *const trial_ends[] = {VERDICTS, "skipped", NULL};
static const char *const solution_ends[] = {VERDICTS, "compile", "skipped", NULL};
static const char *const solution_kinds[] = {"correct", "wrong", NULL};
static const char *const blames[] = {"participant", "task", "machine", NULL};
static const char *const sync_actions[] = {"create", "update", NULL};
static const char *const sync_changes[] = {"task", "deadline", "devices", "description", "set", NULL};
static const char *const sync_arguments[] = {"force", NULL};
static const char *const confirming[] = {"confirm", NULL};
static const char *const plugin_kinds[] = {"language", "runner", "frontend", NULL};
static const char *const plugin_states[] = {"loaded", "installed", "refused", NULL};
static const char *const option_types[] = {
	"string", "path", "integer", "number", "boolean", "list of strings", "map of strings", "any value", NULL};

/* A task, see task/task.h. */
#define TASK_BUNDLE \
	MEMBER("name", SHAPE_STRING), MEMBER("yml", SHAPE_STRING, .help = "the text of task.yml"), \
		MEMBER("task", SHAPE_ANY, .help = "task.yml, checked, with all defaults; see task.schema.json"), \
		MEMBER("files", MAP(SHARED("contents", contents_shape)), .help = "by their names in the folder of a job"), \
		MEMBER("submission", SHAPE_STRING, .help = "the name of the submitted file there"), \
		MEMBER("templates", MAP(OBJECT(MEMBER("file_name", SHAPE_STRING), MEMBER("text", SHAPE_STRING))), \
			.help = "by language"), \
		MEMBER("remarks", ARRAY(SHAPE_STRING)), \
		MEMBER("hash", SHAPE_STRING, .help = "SHA-256 of all that a run depends on"), \
		MEMBER("judging", MAP(SHAPE_STRING, .choices = judgings), \
			.help = "where outputs are checked and timed, on devices with (`gpu`) and without (`cpu`) a GPU")
#define TASK_LANGUAGES \
	MEMBER("languages", ARRAY(SHAPE_STRING), .optional = true, \
		.help = "with `choose`: those that fit the reference file, if there are several")
static const struct shape task_bundle_shape[] = {TASK_BUNDLE, {0}};
/* A task that was tried on a device. */
static const struct shape trial_shape[] = {MEMBER("device", SHAPE_STRING),
	MEMBER("state", SHAPE_STRING, .choices = trial_ends, .help = "skipped: the task was not run on the device"),
	MEMBER("blame", SHAPE_STRING, .choices = blames, .null = true),
	MEMBER(
		"lacks", SHAPE_STRING, .optional = true, .help = "what the machine lacks, if the run failed for that reason"),
	MEMBER("error", SHAPE_STRING, .null = true), MEMBER("said", SHAPE_STRING, .help = "all of it in words"),
	MEMBER(
		"log", SHAPE_STRING, .optional = true, .help = "the output of the step that failed, if the task is at fault"),
	MEMBER("imported", ARRAY(SHAPE_STRING), .optional = true,
		.help = "modules that task and template imported, if the harness reports them"),
	{0}};
#define TRIED \
	MEMBER("tried", ARRAY(SHARED("trial", trial_shape)), .optional = true, \
		.help = "for each device the result of the tests with the task's template, or with an empty file if the task " \
				"has no template; missing if the task was not tried")

/* A set of a competition; its deadlines as the file has them. */
static const struct shape competition_set_shape[] = {MEMBER("name", SHAPE_STRING), MEMBER("file", SHAPE_STRING),
	MEMBER("description", SHAPE_STRING),
	MEMBER("standings", SHAPE_BOOL, .optional = true,
		.help = "missing if the file does not have this key; the competition then has standings"),
	MEMBER("deadline", SHAPE_STRING, .null = true, .help = "as the file has it"),
	MEMBER("error", SHAPE_STRING, .optional = true, .help = "why the file could not be read; `problems` is empty then"),
	MEMBER("problems",
		ARRAY(OBJECT(MEMBER("name", SHAPE_STRING),
			MEMBER("directory", SHAPE_STRING, .help = "the folder of the task, relative to the file"),
			MEMBER("deadline", SHAPE_STRING, .null = true, .help = "the deadline of the problem, or else of the set"),
			MEMBER("gpus", ARRAY(SHAPE_STRING), .help = "the devices of the problem; empty: those that the task names"),
			MEMBER("bundle", SHARED("task_bundle", task_bundle_shape), .null = true),
			MEMBER("error", SHAPE_STRING, .null = true, .help = "why the bundle is null")))),
	{0}};

#define PLUGIN \
	MEMBER("name", SHAPE_STRING), \
		MEMBER("state", SHAPE_STRING, .choices = plugin_states, \
			.help = "installed: the configuration does not name the plugin; refused: the file is not a plugin for " \
					"this version of Kettle"), \
		MEMBER("kind", SHAPE_STRING, .choices = plugin_kinds, .optional = true, \
			.help = "missing if the file was refused, like `version`, `summary` and `file`"), \
		MEMBER("version", SHAPE_STRING, .optional = true), MEMBER("summary", SHAPE_STRING, .optional = true), \
		MEMBER("file", SHAPE_STRING, .optional = true), \
		MEMBER("load", SHAPE_STRING, .optional = true, \
			.help = "for an installed plugin: the line of the configuration that loads it"), \
		MEMBER("error", SHAPE_STRING, .optional = true, .help = "why it is refused")
static const struct shape option_shape[] = {MEMBER("key", SHAPE_STRING),
	MEMBER("type", SHAPE_STRING, .choices = option_types), MEMBER("required", SHAPE_BOOL),
	MEMBER("default", SHAPE_STRING, .null = true, .help = "as it is written in YAML"),
	MEMBER("help", SHAPE_STRING, .null = true), MEMBER("choices", ARRAY(SHAPE_STRING), .optional = true),
	MEMBER("min", SHAPE_NUMBER, .optional = true), MEMBER("max", SHAPE_NUMBER, .optional = true), {0}};
#define PLUGIN_OPTIONS ARRAY(SHARED("option", option_shape))

static const struct shape change_shape[] = {MEMBER("key", SHAPE_STRING),
	MEMBER("change", SHAPE_STRING, .help = "the change in words, to follow the key in a sentence"), {0}};
#define CONFIG_CHANGES ARRAY(SHARED("config_change", change_shape))
