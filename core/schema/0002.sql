-- SPDX-License-Identifier: MIT
-- From the first version to the second.
-- A leaderboard's submissions in the order of their numbers: its pages of an export pass over nothing of the others.
CREATE INDEX submissions_page ON submissions (leaderboard);

-- What a unit's machine last said of itself, so that nobody who only looks has to wait for it.
ALTER TABLE device_units ADD COLUMN facts_json TEXT;
