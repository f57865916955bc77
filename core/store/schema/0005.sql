-- SPDX-License-Identifier: MIT
-- From the fourth version to the fifth.
-- Attempts that ended because the engine's own process did. They count as `spared`, and have a limit of their own.
ALTER TABLE jobs ADD COLUMN orphaned INTEGER NOT NULL DEFAULT 0;
-- Whether there may be logs that retention has not dropped: no order of ends is needed to find them.
ALTER TABLE jobs ADD COLUMN logs INTEGER NOT NULL DEFAULT 1;
CREATE INDEX jobs_logs ON jobs (done_at) WHERE logs AND done_at IS NOT NULL;
DELETE FROM settings WHERE key = 'retention.logs';
-- When a consumer last read: one that is gone holds no events back.
ALTER TABLE cursors ADD COLUMN used_at INTEGER NOT NULL DEFAULT 0;
UPDATE cursors SET used_at = unixepoch() * 1000;
