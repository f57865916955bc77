-- SPDX-License-Identifier: MIT
-- From the fourth version to the fifth.
-- Attempts that ended because the engine's own process did. They count as `spared`, and have a limit of their own.
ALTER TABLE jobs ADD COLUMN orphaned INTEGER NOT NULL DEFAULT 0;
