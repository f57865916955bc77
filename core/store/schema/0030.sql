-- SPDX-License-Identifier: MIT
-- From the twenty-ninth version to the thirtieth.
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
	args_json TEXT NOT NULL
) STRICT;
