-- SPDX-License-Identifier: MIT
-- From the twelfth version to the thirteenth.
-- One-time links (model/links.h) that are open: SHA-256 of the token, which is also the name of the file with the bytes.
CREATE TABLE links (
	hash TEXT PRIMARY KEY,
	expires_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX links_expiry ON links (expires_at);
