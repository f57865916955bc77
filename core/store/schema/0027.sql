-- SPDX-License-Identifier: MIT
-- From the twenty-sixth version to the twenty-seventh.
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
