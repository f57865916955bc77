-- SPDX-License-Identifier: MIT
-- From the nineteenth version to the twentieth.
-- The language of a task, which each submission asks for, apart from its bundle.
ALTER TABLE tasks ADD COLUMN language TEXT;
UPDATE tasks SET language = json_extract(bundle_json, '$.task.lang');
