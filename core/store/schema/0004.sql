-- SPDX-License-Identifier: MIT
-- From the third version to the fourth.
-- A unit that gets no jobs is called disabled. SQLite cannot change a CHECK: the table is made again.
CREATE TABLE units (
	device TEXT NOT NULL COLLATE NOCASE,
	unit TEXT NOT NULL,
	state TEXT NOT NULL DEFAULT 'ready' CHECK (state IN ('ready', 'disabled')),
	reason TEXT,
	changed_at INTEGER NOT NULL,
	calibration_json TEXT,
	facts_json TEXT,
	PRIMARY KEY (device, unit)
) STRICT, WITHOUT ROWID;
INSERT INTO units SELECT device, unit, CASE state WHEN 'aside' THEN 'disabled' ELSE state END, reason, changed_at,
	calibration_json, facts_json FROM device_units;
DROP TABLE device_units;
ALTER TABLE units RENAME TO device_units;
UPDATE events SET kind = 'device.disabled' WHERE kind = 'device.aside';
