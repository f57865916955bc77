-- SPDX-License-Identifier: MIT
-- From the ninth version to the tenth.
-- What a profile is asked to look at (judge/capture.h), as JSON; NULL: everything, as its profiler does by itself.
ALTER TABLE submissions ADD COLUMN capture TEXT;
