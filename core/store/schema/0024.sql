-- SPDX-License-Identifier: MIT
-- From the twenty-third version to the twenty-fourth.
-- What the frontend discord knows of its messages and threads is its outbox's: of the posts of leaderboards, and of submissions that
-- it follows. A patch leaves out the members that are null.
INSERT INTO plugin_state (plugin, key, value_json, updated_at)
SELECT plugin, 'out/' || key, json_patch('{}', json_object('channel', value_json ->> 'channel', 'since', coalesce(value_json ->> 'since', 0),
	'id', value_json ->> 'message', 'ping', value_json ->> 'mention', 'what', json(CASE value_json ->> 'forum'
		WHEN 1 THEN json_object('name', CASE value_json ->> 'hidden' WHEN 1 THEN 'A leaderboard that is not public any more'
				ELSE (SELECT name FROM boards WHERE id = CAST(substr(key, 6) AS INTEGER)) END,
			'archived', json(CASE value_json ->> 'hidden' WHEN 1 THEN 'true' ELSE 'false' END),
			'locked', json(CASE value_json ->> 'hidden' WHEN 1 THEN 'true' ELSE 'false' END),
			'message', json_object('content', coalesce('<@&' || (value_json ->> 'mention') || '>' || char(10), '') || (value_json ->> 'text')))
		ELSE json_object('content', coalesce('<@&' || (value_json ->> 'mention') || '>' || char(10), '') || (value_json ->> 'text')) END))),
	updated_at
FROM plugin_state WHERE plugin = 'discord' AND key GLOB 'post/*';
DELETE FROM plugin_state WHERE plugin = 'discord' AND key GLOB 'post/*';
INSERT INTO plugin_state (plugin, key, value_json, updated_at)
SELECT plugin, 'out/' || key || '/live', json_object('channel', value_json ->> 'channel', 'since', 0, 'id', value_json ->> 'message'), updated_at
FROM plugin_state WHERE plugin = 'discord' AND key GLOB 'sub/*' AND value_json ->> 'message' <> '';
INSERT INTO plugin_state (plugin, key, value_json, updated_at)
SELECT plugin, 'out/' || plugin_state.key || '/' || (job.value ->> 'job') || '/' || kind.value,
	json_object('channel', '', 'since', 0, 'id', job.value ->> kind.value, 'what', json('{}')), updated_at
FROM plugin_state, json_each(value_json, '$.jobs') AS job, json_each('["thread", "result"]') AS kind
WHERE plugin = 'discord' AND plugin_state.key GLOB 'sub/*' AND job.value ->> kind.value <> '';
