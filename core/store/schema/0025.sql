-- SPDX-License-Identifier: MIT
-- From the twenty-fourth version to the twenty-fifth.
-- No leaderboard's name is a word of the addresses of pages (names_reserved in core/model/name.c). One that is gets `-board` behind it, and
-- where another leaderboard has that name already, -2, -3, … Its creator is told by an event.
CREATE TABLE renamed AS SELECT id, name AS was FROM boards WHERE hidden_at IS NULL AND name IN ('admin', 'all', 'api', 'assets', 'auth',
	'board', 'boards', 'code', 'device', 'devices', 'diff', 'docs', 'events', 'favicon.ico', 'files', 'gpu', 'gpus', 'health', 'invite',
	'invites', 'join', 'leaderboard', 'leaderboards', 'link', 'list', 'login', 'logout', 'me', 'metrics', 'new', 'openapi.json', 'operator',
	'problems', 'profile', 'queue', 'ready', 'robots.txt', 'runner_queue', 'runs', 'settings', 'static', 'stats', 'submission',
	'submission_count', 'submissions', 'submit', 'task', 'tasks', 'template', 'token', 'tokens', 'user', 'users', 'well-known');
UPDATE boards SET name = (
	WITH RECURSIVE suffix (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM suffix WHERE n <= (SELECT count(*) FROM boards)),
		candidate (name) AS (SELECT boards.name || '-board' || iif(n = 1, '', '-' || n) FROM suffix)
	SELECT name FROM candidate WHERE NOT EXISTS (SELECT 1 FROM boards other WHERE other.name = candidate.name COLLATE NOCASE) LIMIT 1)
WHERE id IN (SELECT id FROM renamed);
UPDATE events SET leaderboard_name = (SELECT name FROM boards WHERE id = events.leaderboard) WHERE leaderboard IN (SELECT id FROM renamed);
INSERT INTO events (at, kind, scope, closed, leaderboard, leaderboard_name, user, user_name, data_json)
SELECT unixepoch() * 1000, 'leaderboard.renamed', 'u', b.visibility = 'closed' OR coalesce(b.opens_at > unixepoch() * 1000, 0), b.id, b.name,
	u.id, u.name, json_object('name', b.name, 'was', renamed.was)
FROM renamed JOIN boards b ON b.id = renamed.id JOIN users u ON u.id = b.creator ORDER BY b.id;
DROP TABLE renamed;

-- What others see on the page of a user: all that rankings show, or the name alone.
ALTER TABLE users ADD COLUMN profile TEXT NOT NULL DEFAULT 'public' CHECK (profile IN ('public', 'hidden'));
