-- SPDX-License-Identifier: MIT
-- From the second version to the third.
-- A leaderboard that is being deleted is gone at once for everybody, and its rows go bit by bit: what is asked of
-- leaderboards is asked of those that are not hidden; only what writes one, or removes a hidden one, names boards.
ALTER TABLE leaderboards RENAME TO boards;
ALTER TABLE boards ADD COLUMN hidden_at INTEGER;
CREATE INDEX boards_hidden ON boards (hidden_at) WHERE hidden_at IS NOT NULL;
CREATE VIEW leaderboards AS SELECT * FROM boards WHERE hidden_at IS NULL;

-- What a leaderboard shows to everybody is the same as long as its version is, and what it says of itself, without the
-- rankings, as long as own is. Both only grow, and numbers of leaderboards are given once: whatever was made from the same
-- numbers is the same.
CREATE TABLE board_versions (
	leaderboard INTEGER PRIMARY KEY REFERENCES boards (id) ON DELETE CASCADE,
	version INTEGER NOT NULL,
	own INTEGER NOT NULL
) STRICT;
INSERT INTO board_versions SELECT id, 1, 1 FROM boards;
CREATE TRIGGER board_added AFTER INSERT ON boards BEGIN
	INSERT INTO board_versions (leaderboard, version, own) VALUES (NEW.id, 1, 1);
END;
CREATE TRIGGER board_changed AFTER UPDATE ON boards BEGIN
	UPDATE board_versions SET version = version + 1, own = own + 1 WHERE leaderboard = NEW.id;
END;
CREATE TRIGGER board_device_added AFTER INSERT ON leaderboard_devices BEGIN
	UPDATE board_versions SET version = version + 1, own = own + 1 WHERE leaderboard = NEW.leaderboard;
END;
-- Its number of entries changes with best.
CREATE TRIGGER board_device_changed AFTER UPDATE OF leaderboard, device, position ON leaderboard_devices BEGIN
	UPDATE board_versions SET version = version + 1, own = own + 1 WHERE leaderboard = NEW.leaderboard;
END;
CREATE TRIGGER board_device_removed AFTER DELETE ON leaderboard_devices BEGIN
	UPDATE board_versions SET version = version + 1, own = own + 1 WHERE leaderboard = OLD.leaderboard;
END;
CREATE TRIGGER board_creator_renamed AFTER UPDATE OF name ON users BEGIN
	UPDATE board_versions SET version = version + 1, own = own + 1
		WHERE leaderboard IN (SELECT id FROM boards WHERE creator = NEW.id);
END;
CREATE TRIGGER board_best_added AFTER INSERT ON best BEGIN
	UPDATE board_versions SET version = version + 1 WHERE leaderboard = NEW.leaderboard;
END;
CREATE TRIGGER board_best_changed AFTER UPDATE ON best BEGIN
	UPDATE board_versions SET version = version + 1 WHERE leaderboard = NEW.leaderboard;
END;
CREATE TRIGGER board_best_removed AFTER DELETE ON best BEGIN
	UPDATE board_versions SET version = version + 1 WHERE leaderboard = OLD.leaderboard;
END;
