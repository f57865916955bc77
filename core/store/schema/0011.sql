-- SPDX-License-Identifier: MIT
-- From the tenth version to the eleventh.
-- Whose the handle is: the runner's name. A handle goes to no other runner; one of before has none.
ALTER TABLE jobs ADD COLUMN runner TEXT;
-- SHA-256 of the plan that the handle's job carries out.
ALTER TABLE jobs ADD COLUMN plan_hash TEXT;
