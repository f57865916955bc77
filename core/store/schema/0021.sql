-- SPDX-License-Identifier: MIT
-- From the twentieth version to the twenty-first.
-- How the last attempt of a job ended that had no verdict (enum kettle_loss). Of those before it is not known.
ALTER TABLE jobs ADD COLUMN loss TEXT;
