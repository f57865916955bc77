-- SPDX-License-Identifier: MIT
-- Schema 1. In tables WITHOUT ROWID the columns of the key come first, in its order: SQLite 3.40's quick_check takes
-- other ones for damaged. Times that end in _at are UTC in ms since 1970; columns that end in _json hold JSON; names have no case.

CREATE TABLE settings (
	key TEXT PRIMARY KEY,
	value_json TEXT NOT NULL
) STRICT, WITHOUT ROWID;

-- People. Several identities may belong to one; a user who was joined into another stays as a name that points there.
CREATE TABLE users (
	id INTEGER PRIMARY KEY AUTOINCREMENT,
	name TEXT NOT NULL UNIQUE COLLATE NOCASE CHECK (length(name) BETWEEN 1 AND 64),
	role TEXT NOT NULL DEFAULT 'user' CHECK (role IN ('user', 'creator', 'admin')),
	created_at INTEGER NOT NULL,
	banned_at INTEGER,
	ban_reason TEXT,
	merged_into INTEGER REFERENCES users (id) CHECK (merged_into <> id)
) STRICT;

CREATE INDEX users_merged ON users (merged_into) WHERE merged_into IS NOT NULL;

CREATE TABLE identities (
	provider TEXT NOT NULL CHECK (length(provider) BETWEEN 1 AND 32),
	subject TEXT NOT NULL CHECK (length(subject) BETWEEN 1 AND 200),
	user INTEGER NOT NULL REFERENCES users (id),
	name TEXT NOT NULL,
	created_at INTEGER NOT NULL,
	PRIMARY KEY (provider, subject)
) STRICT, WITHOUT ROWID;
CREATE INDEX identities_user ON identities (user);

-- Credentials and short-lived codes: hashes alone. user is NULL while an id waits for its confirmation.
CREATE TABLE tokens (
	hash TEXT PRIMARY KEY,
	kind TEXT NOT NULL CHECK (kind IN ('token', 'session', 'login', 'link', 'pending')),
	user INTEGER REFERENCES users (id),
	name TEXT,
	address TEXT,
	data_json TEXT,
	created_at INTEGER NOT NULL,
	used_at INTEGER,
	expires_at INTEGER
) STRICT, WITHOUT ROWID;
CREATE INDEX tokens_user ON tokens (user, kind);
CREATE INDEX tokens_address ON tokens (address, kind) WHERE address IS NOT NULL;
CREATE INDEX tokens_expiry ON tokens (expires_at) WHERE expires_at IS NOT NULL;

-- Contents, once each: code of submissions, files of tasks, small artifacts.
CREATE TABLE blobs (
	id INTEGER PRIMARY KEY,
	sha256 TEXT NOT NULL UNIQUE CHECK (length(sha256) = 64),
	size INTEGER NOT NULL CHECK (size = length(data)),
	data BLOB NOT NULL
) STRICT;

-- Versions of tasks by content. bundle_json is the bundle without its files; those are task_files.
CREATE TABLE tasks (
	id INTEGER PRIMARY KEY AUTOINCREMENT,
	content_hash TEXT NOT NULL UNIQUE,
	run_hash TEXT NOT NULL,
	name TEXT NOT NULL,
	bundle_json TEXT NOT NULL,
	created_at INTEGER NOT NULL
) STRICT;

CREATE TABLE task_files (
	task INTEGER NOT NULL REFERENCES tasks (id) ON DELETE CASCADE,
	name TEXT NOT NULL,
	blob INTEGER NOT NULL REFERENCES blobs (id),
	PRIMARY KEY (task, name)
) STRICT, WITHOUT ROWID;
CREATE INDEX task_files_blob ON task_files (blob);

-- counts_from: the first submission that counts (an update of the task may leave the scores before it behind).
-- ended_at: when the final result was announced.
CREATE TABLE leaderboards (
	id INTEGER PRIMARY KEY AUTOINCREMENT,
	name TEXT NOT NULL UNIQUE COLLATE NOCASE CHECK (length(name) BETWEEN 1 AND 64),
	description TEXT NOT NULL,
	task INTEGER NOT NULL REFERENCES tasks (id),
	creator INTEGER NOT NULL REFERENCES users (id),
	created_at INTEGER NOT NULL,
	updated_at INTEGER NOT NULL,
	deadline_at INTEGER,
	ended_at INTEGER,
	visibility TEXT NOT NULL DEFAULT 'public' CHECK (visibility IN ('public', 'closed')),
	code TEXT NOT NULL DEFAULT 'owner' CHECK (code IN ('owner', 'ended', 'always')),
	counts_from INTEGER NOT NULL DEFAULT 0,
	problem_set TEXT,
	source_json TEXT
) STRICT;
CREATE INDEX leaderboards_task ON leaderboards (task);
CREATE INDEX leaderboards_set ON leaderboards (problem_set) WHERE problem_set IS NOT NULL;

-- ranked: how many users the ranking of the device has, kept by the triggers of best.
CREATE TABLE leaderboard_devices (
	leaderboard INTEGER NOT NULL REFERENCES leaderboards (id) ON DELETE CASCADE,
	device TEXT NOT NULL COLLATE NOCASE,
	position INTEGER NOT NULL,
	ranked INTEGER NOT NULL DEFAULT 0,
	PRIMARY KEY (leaderboard, device)
) STRICT, WITHOUT ROWID;

CREATE TABLE invites (
	code TEXT PRIMARY KEY,
	created_by INTEGER NOT NULL REFERENCES users (id),
	created_at INTEGER NOT NULL,
	claimed_by INTEGER REFERENCES users (id),
	claimed_at INTEGER
) STRICT, WITHOUT ROWID;

CREATE TABLE invite_boards (
	code TEXT NOT NULL REFERENCES invites (code) ON DELETE CASCADE,
	leaderboard INTEGER NOT NULL REFERENCES leaderboards (id) ON DELETE CASCADE,
	PRIMARY KEY (code, leaderboard)
) STRICT, WITHOUT ROWID;
CREATE INDEX invite_boards_leaderboard ON invite_boards (leaderboard);

-- Who may see a closed board besides its creator and admins.
CREATE TABLE access (
	leaderboard INTEGER NOT NULL REFERENCES leaderboards (id) ON DELETE CASCADE,
	user INTEGER NOT NULL REFERENCES users (id),
	code TEXT,
	granted_at INTEGER NOT NULL,
	PRIMARY KEY (leaderboard, user)
) STRICT, WITHOUT ROWID;
CREATE INDEX access_user ON access (user);

-- Per user and rolling hour. device '' stands for all devices together.
CREATE TABLE rate_limits (
	leaderboard INTEGER NOT NULL REFERENCES leaderboards (id) ON DELETE CASCADE,
	category TEXT NOT NULL CHECK (category IN ('test', 'leaderboard')),
	device TEXT NOT NULL DEFAULT '' COLLATE NOCASE,
	per_hour INTEGER NOT NULL CHECK (per_hour >= 0),
	PRIMARY KEY (leaderboard, category, device)
) STRICT, WITHOUT ROWID;

-- What deleted submissions had used of a rate limit: deleting gives nothing back.
CREATE TABLE rate_spent (
	leaderboard INTEGER NOT NULL REFERENCES leaderboards (id) ON DELETE CASCADE,
	user INTEGER NOT NULL REFERENCES users (id),
	at INTEGER NOT NULL,
	submission INTEGER NOT NULL,
	device TEXT NOT NULL COLLATE NOCASE,
	category TEXT NOT NULL,
	PRIMARY KEY (leaderboard, user, at, submission, device)
) STRICT, WITHOUT ROWID;

CREATE TABLE submissions (
	id INTEGER PRIMARY KEY AUTOINCREMENT,
	leaderboard INTEGER NOT NULL REFERENCES leaderboards (id) ON DELETE CASCADE,
	task INTEGER NOT NULL REFERENCES tasks (id),
	user INTEGER NOT NULL REFERENCES users (id),
	mode TEXT NOT NULL CHECK (mode IN ('test', 'benchmark', 'profile', 'ranked')),
	file_name TEXT NOT NULL,
	code INTEGER NOT NULL REFERENCES blobs (id),
	state TEXT NOT NULL DEFAULT 'queued'
		CHECK (state IN ('queued', 'running', 'passed', 'failed', 'timed_out', 'error', 'cancelled')),
	created_at INTEGER NOT NULL,
	done_at INTEGER,
	flagged_at INTEGER,
	flag_reason TEXT,
	flagged_by INTEGER REFERENCES users (id),
	CHECK ((state IN ('queued', 'running')) = (done_at IS NULL))
) STRICT;
-- Own ones newest first, on one board or on all; all of a board; what still uses a content or a task.
CREATE INDEX submissions_user ON submissions (user);
CREATE INDEX submissions_own ON submissions (leaderboard, user, created_at);
CREATE INDEX submissions_flagged ON submissions (flagged_by) WHERE flagged_by IS NOT NULL;
CREATE INDEX submissions_code ON submissions (code);
CREATE INDEX submissions_task ON submissions (task);

-- One (submission, device) to be run. A rerun is a new row. superseded: 0 the one that counts; under way, the number of
-- the one that is run again, negative; afterwards the number of the one that took its place, or, where a rerun said
-- nothing about the code, its own.
CREATE TABLE jobs (
	id INTEGER PRIMARY KEY AUTOINCREMENT,
	submission INTEGER NOT NULL REFERENCES submissions (id) ON DELETE CASCADE,
	device TEXT NOT NULL COLLATE NOCASE,
	superseded INTEGER NOT NULL DEFAULT 0,
	state TEXT NOT NULL DEFAULT 'queued'
		CHECK (state IN ('queued', 'running', 'passed', 'failed', 'timed_out', 'error', 'cancelled')),
	seed INTEGER NOT NULL CHECK (seed BETWEEN 0 AND 2147483647),
	attempt INTEGER NOT NULL DEFAULT 0,
	spared INTEGER NOT NULL DEFAULT 0,
	unit TEXT,
	handle TEXT,
	queued_at INTEGER NOT NULL,
	started_at INTEGER,
	changed_at INTEGER NOT NULL,
	done_at INTEGER,
	score REAL CHECK (score > 0),
	low REAL,
	high REAL,
	error TEXT,
	compilation_json TEXT,
	system_json TEXT,
	timing_json TEXT,
	CHECK ((state IN ('queued', 'running')) = (done_at IS NULL)),
	CHECK (spared <= attempt)
) STRICT;
CREATE UNIQUE INDEX jobs_submission ON jobs (submission, device, superseded);
CREATE INDEX jobs_open ON jobs (id) WHERE done_at IS NULL;

-- The runs of a job's last attempt. Of a secret one: mode, passed and score, nothing else.
CREATE TABLE runs (
	id INTEGER PRIMARY KEY,
	job INTEGER NOT NULL REFERENCES jobs (id) ON DELETE CASCADE,
	mode TEXT NOT NULL,
	secret INTEGER NOT NULL CHECK (secret IN (0, 1)),
	idx INTEGER,
	passed INTEGER NOT NULL CHECK (passed IN (0, 1)),
	state TEXT NOT NULL,
	score REAL,
	low REAL,
	high REAL,
	start_at INTEGER,
	end_at INTEGER,
	message TEXT,
	result_json TEXT,
	system_json TEXT,
	detail_json TEXT,
	CHECK (NOT secret OR (message IS NULL AND result_json IS NULL AND system_json IS NULL AND detail_json IS NULL))
) STRICT;
CREATE INDEX runs_job ON runs (job);

-- Files that a job left: in the spool (path), or in blobs when they are small.
CREATE TABLE artifacts (
	id INTEGER PRIMARY KEY AUTOINCREMENT,
	job INTEGER NOT NULL REFERENCES jobs (id) ON DELETE CASCADE,
	step TEXT,
	name TEXT NOT NULL,
	size INTEGER NOT NULL CHECK (size >= 0),
	sha256 TEXT NOT NULL,
	path TEXT,
	blob INTEGER REFERENCES blobs (id),
	created_at INTEGER NOT NULL,
	expired_at INTEGER
) STRICT;
CREATE INDEX artifacts_job ON artifacts (job);
CREATE INDEX artifacts_kept ON artifacts (created_at) WHERE expired_at IS NULL;
CREATE INDEX artifacts_blob ON artifacts (blob) WHERE blob IS NOT NULL;

-- The best run of each user on each ranking: what pages are read from. Recomputed in the transaction that changes it.
-- bucket grows with the score (see ranking.c): it makes a rank a sum of counts.
CREATE TABLE best (
	leaderboard INTEGER NOT NULL REFERENCES leaderboards (id) ON DELETE CASCADE,
	device TEXT NOT NULL COLLATE NOCASE,
	user INTEGER NOT NULL REFERENCES users (id),
	submission INTEGER NOT NULL REFERENCES submissions (id) ON DELETE CASCADE,
	job INTEGER NOT NULL,
	score REAL NOT NULL CHECK (score > 0),
	low REAL,
	high REAL,
	bucket INTEGER NOT NULL,
	PRIMARY KEY (leaderboard, device, user)
) STRICT, WITHOUT ROWID;
CREATE INDEX best_page ON best (leaderboard, device, score, submission, user, job, low, high);
CREATE INDEX best_submission ON best (submission);
CREATE INDEX best_user ON best (user);

-- How many entries of a ranking are in a bucket (level 0), in 64 buckets (1), in 4,096 (2).
CREATE TABLE best_counts (
	leaderboard INTEGER NOT NULL REFERENCES leaderboards (id) ON DELETE CASCADE,
	device TEXT NOT NULL COLLATE NOCASE,
	level INTEGER NOT NULL,
	bucket INTEGER NOT NULL,
	entries INTEGER NOT NULL,
	PRIMARY KEY (leaderboard, device, level, bucket)
) STRICT, WITHOUT ROWID;

CREATE TRIGGER best_added AFTER INSERT ON best BEGIN
	UPDATE leaderboard_devices SET ranked = ranked + 1 WHERE leaderboard = NEW.leaderboard AND device = NEW.device;
	INSERT INTO best_counts (leaderboard, device, level, bucket, entries)
	VALUES (NEW.leaderboard, NEW.device, 0, NEW.bucket, 1), (NEW.leaderboard, NEW.device, 1, NEW.bucket >> 6, 1),
		(NEW.leaderboard, NEW.device, 2, NEW.bucket >> 12, 1)
	ON CONFLICT (leaderboard, device, level, bucket) DO UPDATE SET entries = entries + 1;
END;
CREATE TRIGGER best_removed AFTER DELETE ON best BEGIN
	UPDATE leaderboard_devices SET ranked = ranked - 1 WHERE leaderboard = OLD.leaderboard AND device = OLD.device;
	UPDATE best_counts SET entries = entries - 1 WHERE leaderboard = OLD.leaderboard AND device = OLD.device
		AND level = 0 AND bucket = OLD.bucket;
	UPDATE best_counts SET entries = entries - 1 WHERE leaderboard = OLD.leaderboard AND device = OLD.device
		AND level = 1 AND bucket = OLD.bucket >> 6;
	UPDATE best_counts SET entries = entries - 1 WHERE leaderboard = OLD.leaderboard AND device = OLD.device
		AND level = 2 AND bucket = OLD.bucket >> 12;
END;
CREATE TRIGGER best_moved AFTER UPDATE OF bucket ON best WHEN NEW.bucket <> OLD.bucket BEGIN
	UPDATE best_counts SET entries = entries - 1 WHERE leaderboard = OLD.leaderboard AND device = OLD.device
		AND level = 0 AND bucket = OLD.bucket;
	UPDATE best_counts SET entries = entries - 1 WHERE leaderboard = OLD.leaderboard AND device = OLD.device
		AND level = 1 AND bucket = OLD.bucket >> 6;
	UPDATE best_counts SET entries = entries - 1 WHERE leaderboard = OLD.leaderboard AND device = OLD.device
		AND level = 2 AND bucket = OLD.bucket >> 12;
	INSERT INTO best_counts (leaderboard, device, level, bucket, entries)
	VALUES (NEW.leaderboard, NEW.device, 0, NEW.bucket, 1), (NEW.leaderboard, NEW.device, 1, NEW.bucket >> 6, 1),
		(NEW.leaderboard, NEW.device, 2, NEW.bucket >> 12, 1)
	ON CONFLICT (leaderboard, device, level, bucket) DO UPDATE SET entries = entries + 1;
END;

-- Numbered for ever. They outlive what they speak of, so they refer to nothing and keep the names.
CREATE TABLE events (
	seq INTEGER PRIMARY KEY AUTOINCREMENT,
	at INTEGER NOT NULL,
	kind TEXT NOT NULL,
	scope TEXT NOT NULL CHECK (scope IN ('p', 'u', 'a')),
	closed INTEGER NOT NULL,
	leaderboard INTEGER,
	leaderboard_name TEXT,
	submission INTEGER,
	user INTEGER,
	user_name TEXT,
	data_json TEXT
) STRICT;
CREATE INDEX events_submission ON events (submission) WHERE submission IS NOT NULL;
CREATE INDEX events_leaderboard ON events (leaderboard) WHERE leaderboard IS NOT NULL;

-- How far each consumer of events has come.
CREATE TABLE cursors (
	consumer TEXT PRIMARY KEY,
	seq INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE plugin_state (
	plugin TEXT NOT NULL,
	key TEXT NOT NULL CHECK (length(key) BETWEEN 1 AND 200),
	value_json TEXT NOT NULL,
	updated_at INTEGER NOT NULL,
	PRIMARY KEY (plugin, key)
) STRICT, WITHOUT ROWID;

-- What is remembered of a device's units. aside: no job goes there until somebody or a self-test says otherwise.
CREATE TABLE device_units (
	device TEXT NOT NULL COLLATE NOCASE,
	unit TEXT NOT NULL,
	state TEXT NOT NULL DEFAULT 'ready' CHECK (state IN ('ready', 'aside')),
	reason TEXT,
	changed_at INTEGER NOT NULL,
	calibration_json TEXT,
	PRIMARY KEY (device, unit)
) STRICT, WITHOUT ROWID;
