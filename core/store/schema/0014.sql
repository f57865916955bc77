-- SPDX-License-Identifier: MIT
-- From the thirteenth version to the fourteenth.
-- A caller's identifier of a submission, by which a repeated `submit` finds the first one.
ALTER TABLE submissions ADD COLUMN request TEXT;
CREATE INDEX submissions_request ON submissions (user, request) WHERE request IS NOT NULL;
