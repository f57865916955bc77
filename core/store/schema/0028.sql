-- SPDX-License-Identifier: MIT
-- From the twenty-seventh version to the twenty-eighth: the former names of leaderboards.

-- Resolves a name that no leaderboard has now: to the last one that had it, of those that the reader may see (model/board.c). The last 20
-- names of each leaderboard are kept. id: the order in which names were given up.
CREATE TABLE former_names (
	id INTEGER PRIMARY KEY,
	name TEXT NOT NULL COLLATE NOCASE,
	leaderboard INTEGER NOT NULL REFERENCES boards (id) ON DELETE CASCADE,
	UNIQUE (name, leaderboard)
) STRICT;
CREATE INDEX former_names_leaderboard ON former_names (leaderboard);
CREATE TRIGGER former_names_add AFTER UPDATE OF name ON boards WHEN NEW.name <> OLD.name COLLATE NOCASE AND NEW.hidden_at IS NULL BEGIN
	INSERT OR REPLACE INTO former_names (name, leaderboard) VALUES (OLD.name, OLD.id);
END;
CREATE TRIGGER former_names_limit AFTER INSERT ON former_names BEGIN
	DELETE FROM former_names WHERE leaderboard = NEW.leaderboard AND id NOT IN (
		SELECT id FROM former_names WHERE leaderboard = NEW.leaderboard ORDER BY id DESC LIMIT 20);
END;
INSERT OR REPLACE INTO former_names (name, leaderboard) SELECT json_extract(data_json, '$.was'), leaderboard FROM events
	WHERE kind IN ('leaderboard.renamed', 'leaderboard.updated') AND json_extract(data_json, '$.was') IS NOT NULL
	AND leaderboard IN (SELECT id FROM leaderboards) ORDER BY seq;
