-- SPDX-License-Identifier: MIT
-- From the fifth version to the sixth.
-- What is known of a unit belongs to what the unit is, not to its place in a list. unit: its GPUs' UUIDs, else its key. key: as
-- the configuration names it (judge/unit_facts.h); NULL: it was moved to another row, or the row is of before this version and
-- has the unit's label in `unit`, until an engine loads a unit of that label (settings_units_match). label: what people see;
-- '': the unit is not configured.
ALTER TABLE device_units ADD COLUMN key TEXT;
ALTER TABLE device_units ADD COLUMN label TEXT;
CREATE UNIQUE INDEX device_units_key ON device_units (device, key);
-- `unit` of a job stays what people see; this is where it runs.
ALTER TABLE jobs ADD COLUMN unit_key TEXT;
