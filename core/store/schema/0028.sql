-- SPDX-License-Identifier: MIT
-- From the twenty-seventh version to the twenty-eighth: the former names of leaderboards.

-- For who comes by a name that no leaderboard has any more: the last one that had it (model/board.c).
CREATE TABLE former_names (
	name TEXT NOT NULL PRIMARY KEY COLLATE NOCASE,
	leaderboard INTEGER NOT NULL REFERENCES boards (id) ON DELETE CASCADE
) STRICT, WITHOUT ROWID;
CREATE INDEX former_names_leaderboard ON former_names (leaderboard);
INSERT OR REPLACE INTO former_names (name, leaderboard) SELECT json_extract(data_json, '$.was'), leaderboard FROM events
	WHERE kind = 'leaderboard.updated' AND json_extract(data_json, '$.was') IS NOT NULL AND leaderboard IN (SELECT id FROM boards)
	ORDER BY seq;
CREATE TRIGGER former_names_add AFTER UPDATE OF name ON boards WHEN NEW.name <> OLD.name COLLATE NOCASE AND NEW.hidden_at IS NULL BEGIN
	INSERT OR REPLACE INTO former_names (name, leaderboard) VALUES (OLD.name, OLD.id);
END;
