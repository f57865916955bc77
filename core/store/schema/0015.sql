-- SPDX-License-Identifier: MIT
-- From the fourteenth version to the fifteenth.
-- What jobs have used of devices that have a budget, by UTC days since 1970. user 0: all users together.
CREATE TABLE device_usage (
	device TEXT NOT NULL COLLATE NOCASE,
	day INTEGER NOT NULL,
	user INTEGER NOT NULL,
	ms INTEGER NOT NULL,
	PRIMARY KEY (device, day, user)
) STRICT, WITHOUT ROWID;
