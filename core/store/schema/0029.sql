-- SPDX-License-Identifier: MIT
-- From the twenty-eighth version to the twenty-ninth.
-- Every whole calibration of a unit, the last ones, by the name that the unit had then. Of those before only the last is known.
CREATE TABLE calibrations (
	id INTEGER PRIMARY KEY AUTOINCREMENT,
	device TEXT NOT NULL COLLATE NOCASE,
	unit TEXT NOT NULL,
	at INTEGER NOT NULL,
	names_json TEXT NOT NULL,
	spreads_json TEXT
) STRICT;
INSERT INTO calibrations (device, unit, at, names_json, spreads_json)
SELECT device, label, unixepoch(calibration_json ->> 'at') * 1000, calibration_json -> 'names', calibration_json -> 'spreads' FROM device_units
WHERE label IS NOT NULL AND unixepoch(calibration_json ->> 'at') IS NOT NULL AND json_type(calibration_json, '$.names') = 'object'
	AND json_type(calibration_json, '$.missing') IS NULL ORDER BY 3;
