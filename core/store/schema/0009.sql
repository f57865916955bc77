-- SPDX-License-Identifier: MIT
-- From the eighth version to the ninth.
-- What happens to submissions after a board's deadline: they are refused, or run outside of its rankings.
ALTER TABLE boards ADD COLUMN after_deadline TEXT NOT NULL DEFAULT 'closed' CHECK (after_deadline IN ('closed', 'practice'));
-- Whether a submission came after the deadline: it never counts, whatever becomes of the deadline later.
ALTER TABLE submissions ADD COLUMN practice INTEGER NOT NULL DEFAULT 0 CHECK (practice IN (0, 1));
CREATE INDEX submissions_practice ON submissions (leaderboard) WHERE practice;
-- What its user wrote down about it.
ALTER TABLE submissions ADD COLUMN note TEXT;
