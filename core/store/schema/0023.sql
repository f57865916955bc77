-- SPDX-License-Identifier: MIT
-- From the twenty-second version to the twenty-third.
-- Names that say what is counted: attempts that are not charged to the job, and those that ended with the engine's process.
ALTER TABLE jobs RENAME COLUMN spared TO uncharged_attempts;
ALTER TABLE jobs RENAME COLUMN orphaned TO lost_with_engine;
