-- SPDX-License-Identifier: MIT
-- From the twenty-first version to the twenty-second.
-- Since when the jobs of a unit wait: for its operator, and since its remote side cannot be reached.
ALTER TABLE device_units ADD COLUMN unusable_at INTEGER;
ALTER TABLE device_units ADD COLUMN away_at INTEGER;
