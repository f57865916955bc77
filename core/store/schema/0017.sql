-- SPDX-License-Identifier: MIT
-- From the sixteenth version to the seventeenth.
-- No user's name reads as an identity (it has a `:`) or as a number (it begins with `#`). One that does is written without these, with the
-- user's number behind it, so that no two become one; and where another user has that name already, with the first free of .1, .2, …
UPDATE users SET name = (
	WITH RECURSIVE suffix (n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM suffix WHERE n <= (SELECT count(*) FROM users)),
		candidate (name) AS (SELECT substr(coalesce(nullif(trim(ltrim(replace(users.name, ':', '-'), '# ')), ''), 'user'), 1, 24)
			|| '-' || users.id || iif(n = 0, '', '.' || n) FROM suffix)
	SELECT name FROM candidate WHERE NOT EXISTS (SELECT 1 FROM users other WHERE other.name = candidate.name COLLATE NOCASE) LIMIT 1)
WHERE name LIKE '%:%' OR name LIKE '#%';
UPDATE events SET user_name = (SELECT name FROM users WHERE id = events.user)
WHERE (user_name LIKE '%:%' OR user_name LIKE '#%') AND user IN (SELECT id FROM users);
