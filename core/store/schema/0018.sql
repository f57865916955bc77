-- SPDX-License-Identifier: MIT
-- From the seventeenth version to the eighteenth.
-- Why a unit is disabled is a word (enum unit_cause). Of those that are disabled already the beginning of the reason said it.
ALTER TABLE device_units ADD COLUMN cause TEXT CHECK (cause IN ('operator', 'fault', 'silent'));
UPDATE device_units SET cause = CASE WHEN reason GLOB 'by *' THEN 'operator'
	WHEN reason GLOB 'its kettle-exec has not answered*' THEN 'silent' ELSE 'fault' END WHERE state = 'disabled';
