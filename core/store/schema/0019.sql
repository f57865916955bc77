-- SPDX-License-Identifier: MIT
-- From the eighteenth version to the nineteenth.
-- Whose fault it is that a job did not pass, and where it ended. Of those before it is known where a participant's code failed.
ALTER TABLE jobs ADD COLUMN fault TEXT CHECK (fault IN ('participant', 'task', 'machine', 'operator'));
ALTER TABLE jobs ADD COLUMN stage TEXT
	CHECK (stage IN ('queue', 'prepare', 'build', 'test', 'benchmark', 'ranked', 'secret', 'profile', 'record'));
UPDATE jobs SET fault = 'participant' WHERE state IN ('failed', 'timed_out');
