-- SPDX-License-Identifier: MIT
-- From the twenty-fifth version to the twenty-sixth.
-- The ended submissions of a leaderboard in a state, in the order of their numbers: a page of a list. Open ones are few, and their jobs
-- are found by jobs_open, so accepting a submission writes nothing here; those of one user are found among the user's own.
CREATE INDEX submissions_state ON submissions (leaderboard, state) WHERE done_at IS NOT NULL;
