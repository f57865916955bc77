-- SPDX-License-Identifier: MIT
-- From the thirtieth version to the thirty-first.
-- What a competition says of itself. Its leaderboards are those with its name as their set. owner: whose file it was in, and who may
-- change it as long as a leaderboard of the set is theirs.
CREATE TABLE competitions (
	name TEXT PRIMARY KEY COLLATE NOCASE,
	description TEXT NOT NULL,
	owner INTEGER NOT NULL REFERENCES users (id)
) STRICT, WITHOUT ROWID;
