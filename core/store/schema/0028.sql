-- SPDX-License-Identifier: MIT
-- From the twenty-seventh version to the twenty-eighth.
-- The changes of a board's first places, which a page of its feed reads from the newest.
CREATE INDEX events_podium ON events (leaderboard) WHERE kind = 'leaderboard.podium';
