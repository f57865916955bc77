-- SPDX-License-Identifier: MIT
-- From the twentieth version to the twenty-first.
-- The language of a task, which each submission asks for, apart from its bundle.
ALTER TABLE tasks ADD COLUMN language TEXT;
UPDATE tasks SET language = json_extract(bundle_json, '$.task.lang');
