-- SPDX-License-Identifier: MIT
-- From the twenty-fifth version to the twenty-sixth: lists by state, tries of ranked users, changes of podiums, calibrations over time, the
-- log of who did what, and descriptions of competitions.

-- The ended submissions of a leaderboard in a state, in the order of their numbers: a page of a list. Open ones are few, and their jobs
-- are found by jobs_open, so accepting a submission writes nothing here; those of one user are found among the user's own.
CREATE INDEX submissions_state ON submissions (leaderboard, state) WHERE done_at IS NOT NULL;

-- How many ranked submissions an entry's user has made on its board and device since the rankings began and that have ended, whatever
-- became of them. Stored, since a page of a ranking is read from its index alone.
ALTER TABLE best ADD COLUMN tries INTEGER NOT NULL DEFAULT 0;
UPDATE best SET tries = (SELECT count(*) FROM submissions s JOIN jobs j ON j.submission = s.id AND j.device = best.device AND NOT j.superseded
	AND j.done_at IS NOT NULL WHERE s.leaderboard = best.leaderboard AND s.user = best.user AND s.mode = 'ranked' AND NOT s.practice
		AND s.id >= (SELECT counts_from FROM boards WHERE id = best.leaderboard));
DROP INDEX best_page;
CREATE INDEX best_page ON best (leaderboard, device, score, submission, user, job, low, high, created_at, file_name, user_name, tries);
-- The job of a submission that counts is one row, a rerun another one, which has another number in superseded when it ends.
CREATE TRIGGER best_tried AFTER UPDATE OF done_at ON jobs WHEN OLD.done_at IS NULL AND NEW.done_at IS NOT NULL AND OLD.superseded = 0 BEGIN
	UPDATE best SET tries = tries + 1 WHERE (leaderboard, user) = (SELECT s.leaderboard, s.user FROM submissions s
		JOIN boards b ON b.id = s.leaderboard WHERE s.id = NEW.submission AND s.mode = 'ranked' AND NOT s.practice
			AND s.id >= b.counts_from) AND device = NEW.device;
END;
CREATE TRIGGER best_untried AFTER DELETE ON jobs WHEN OLD.superseded = 0 AND OLD.done_at IS NOT NULL BEGIN
	UPDATE best SET tries = tries - 1 WHERE (leaderboard, user) = (SELECT s.leaderboard, s.user FROM submissions s
		JOIN boards b ON b.id = s.leaderboard WHERE s.id = OLD.submission AND s.mode = 'ranked' AND NOT s.practice
			AND s.id >= b.counts_from) AND device = OLD.device;
END;

-- The changes of a board's first places, which a page of its feed reads from the newest.
CREATE INDEX events_podium ON events (leaderboard) WHERE kind = 'leaderboard.podium';

-- Every whole calibration of a unit, the last ones, by the name that the unit had then. Of those before only the last is known.
CREATE TABLE calibrations (
	id INTEGER PRIMARY KEY AUTOINCREMENT,
	device TEXT NOT NULL COLLATE NOCASE,
	unit TEXT NOT NULL,
	at INTEGER NOT NULL,
	names_json TEXT NOT NULL,
	spreads_json TEXT
) STRICT;
INSERT INTO calibrations (device, unit, at, names_json, spreads_json)
SELECT device, label, unixepoch(calibration_json ->> 'at') * 1000, calibration_json -> 'names', calibration_json -> 'spreads' FROM device_units
WHERE label IS NOT NULL AND unixepoch(calibration_json ->> 'at') IS NOT NULL AND json_type(calibration_json, '$.names') = 'object'
	AND json_type(calibration_json, '$.missing') IS NULL ORDER BY 3;

-- The log of who did what (model/audit.h). It outlives what it speaks of: names of boards, numbers of users, which are never removed.
CREATE TABLE audit (
	seq INTEGER PRIMARY KEY AUTOINCREMENT,
	at INTEGER NOT NULL,
	actor INTEGER,
	actor_name TEXT,
	command TEXT NOT NULL,
	submission INTEGER,
	boards_json TEXT NOT NULL,
	users_json TEXT NOT NULL,
	args_json TEXT NOT NULL,
	error TEXT
) STRICT;
CREATE INDEX audit_actor ON audit (actor);

-- What a competition says of itself. Its leaderboards are those with its name as their set. owner: whose file it was in, and who may
-- change it as long as a leaderboard of the set is theirs.
CREATE TABLE competitions (
	name TEXT PRIMARY KEY COLLATE NOCASE,
	description TEXT NOT NULL,
	owner INTEGER NOT NULL REFERENCES users (id)
) STRICT, WITHOUT ROWID;
-- The description goes with the last leaderboard of the set, which is hidden before it is deleted.
CREATE TRIGGER competitions_end AFTER UPDATE OF problem_set, hidden_at ON boards WHEN OLD.problem_set IS NOT NULL
	AND (NEW.hidden_at IS NOT NULL OR NEW.problem_set IS NOT OLD.problem_set)
	AND NOT EXISTS (SELECT 1 FROM leaderboards WHERE problem_set = OLD.problem_set COLLATE NOCASE) BEGIN
	DELETE FROM competitions WHERE name = OLD.problem_set;
END;
