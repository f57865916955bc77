-- SPDX-License-Identifier: MIT
-- From the eleventh version to the twelfth.
-- Boards open at a time, their end is an event, and a fault of their task is told once.
-- opened_at: the event leaderboard.opened was written; fault_at: leaderboard.fault was, and nothing has passed since.
ALTER TABLE boards ADD COLUMN opens_at INTEGER;
ALTER TABLE boards ADD COLUMN opened_at INTEGER;
ALTER TABLE boards ADD COLUMN fault_at INTEGER;
CREATE INDEX boards_to_open ON boards (opens_at) WHERE opens_at IS NOT NULL AND opened_at IS NULL;
CREATE INDEX boards_to_end ON boards (deadline_at) WHERE deadline_at IS NOT NULL AND ended_at IS NULL;
-- What ended more than a day ago is not announced.
UPDATE boards SET ended_at = deadline_at WHERE ended_at IS NULL AND deadline_at < (unixepoch() - 86400) * 1000;
UPDATE events SET kind = 'leaderboard.fault' WHERE kind = 'leaderboard.faulty';
