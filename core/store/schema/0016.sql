-- SPDX-License-Identifier: MIT
-- From the fifteenth version to the sixteenth.
-- A job that its own run ended, by a word that a submission can forge: it counts for rate limits though it is an error.
ALTER TABLE jobs RENAME COLUMN disbelieved TO spent;
-- The user whose run accused the task, while nobody else's has.
ALTER TABLE boards ADD COLUMN accuser INTEGER;
