-- SPDX-License-Identifier: MIT
-- From the first version to the second.
-- A leaderboard's submissions in the order of their numbers: its pages of an export pass over nothing of the others.
CREATE INDEX submissions_page ON submissions (leaderboard);

-- What a unit's machine last said of itself, so that nobody who only looks has to wait for it.
ALTER TABLE device_units ADD COLUMN facts_json TEXT;

-- A page of a ranking is read from its index alone. Every write of another connection takes the reader's cache, and a
-- hundred rows of submissions and of users are as many pages of a large file.
ALTER TABLE best ADD COLUMN created_at INTEGER NOT NULL DEFAULT 0;
ALTER TABLE best ADD COLUMN file_name TEXT NOT NULL DEFAULT '';
ALTER TABLE best ADD COLUMN user_name TEXT NOT NULL DEFAULT '';
UPDATE best SET
	(created_at, file_name) = (SELECT created_at, file_name FROM submissions WHERE id = best.submission),
	user_name = (SELECT name FROM users WHERE id = best.user);
DROP INDEX best_page;
CREATE INDEX best_page ON best (leaderboard, device, score, submission, user, job, low, high, created_at, file_name, user_name);
CREATE TRIGGER users_renamed AFTER UPDATE OF name ON users BEGIN
	UPDATE best SET user_name = NEW.name WHERE user = NEW.id;
END;
