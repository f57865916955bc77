-- SPDX-License-Identifier: MIT
-- From the twenty-sixth version to the twenty-seventh: what lists of leaderboards say of their tasks, and records.

-- What every list of leaderboards says of a task, so that none parses bundles. judging_json: as the bundle keeps it; NULL: it keeps none.
ALTER TABLE tasks ADD COLUMN harness TEXT NOT NULL DEFAULT 'task';
ALTER TABLE tasks ADD COLUMN judging_json TEXT;
UPDATE tasks SET harness = coalesce(json_extract(bundle_json, '$.task.harness'), 'task'), judging_json = json_extract(bundle_json, '$.judging');

-- The runs that count and were better than all that count of the submissions before: of one user, and, user 0, of all users together.
-- Kept with best (model/records.c), so that a trend needs no look at the submissions that changed nothing.
CREATE TABLE records (
	leaderboard INTEGER NOT NULL REFERENCES boards (id) ON DELETE CASCADE,
	device TEXT NOT NULL COLLATE NOCASE,
	user INTEGER NOT NULL,
	submission INTEGER NOT NULL REFERENCES submissions (id) ON DELETE CASCADE,
	score REAL NOT NULL CHECK (score > 0),
	PRIMARY KEY (leaderboard, device, user, submission)
) STRICT, WITHOUT ROWID;
CREATE INDEX records_submission ON records (submission);
INSERT INTO records (leaderboard, device, user, submission, score)
SELECT leaderboard, device, user, id, score FROM (
	SELECT s.leaderboard, j.device, s.user, s.id, j.score, min(j.score) OVER (PARTITION BY s.leaderboard, j.device, s.user
		ORDER BY s.id ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS before
	FROM boards b JOIN submissions s ON s.leaderboard = b.id JOIN jobs j ON j.submission = s.id JOIN users u ON u.id = s.user
	WHERE b.hidden_at IS NULL AND NOT s.practice AND s.mode = 'ranked' AND s.flagged_at IS NULL AND s.id >= b.counts_from
		AND u.banned_at IS NULL AND NOT j.superseded AND j.state = 'passed' AND j.score IS NOT NULL)
WHERE before IS NULL OR score < before;
INSERT INTO records (leaderboard, device, user, submission, score)
SELECT leaderboard, device, 0, submission, score FROM (
	SELECT leaderboard, device, submission, score, min(score) OVER (PARTITION BY leaderboard, device
		ORDER BY submission ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS before
	FROM records)
WHERE before IS NULL OR score < before;
