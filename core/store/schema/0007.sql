-- SPDX-License-Identifier: MIT
-- From the sixth version to the seventh.
-- Intervals that no benchmark had shown to be right: no score has one any more.
UPDATE best SET low = NULL, high = NULL WHERE low IS NOT NULL;
UPDATE runs SET low = NULL, high = NULL WHERE low IS NOT NULL;
UPDATE jobs SET low = NULL, high = NULL WHERE low IS NOT NULL;
-- Attempts of which the run alone said that the machine failed; and whether the job ended since its user had too many.
ALTER TABLE jobs ADD COLUMN claimed INTEGER NOT NULL DEFAULT 0;
ALTER TABLE jobs ADD COLUMN disbelieved INTEGER NOT NULL DEFAULT 0;
