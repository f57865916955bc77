# SPDX-License-Identifier: MIT
"""Section board: the first page of a board with many submissions, while verdicts are written."""
import json
import struct
import subprocess

from measure import SECONDS, TOOLS, Box, Cannot

SIZES = (10_000, 100_000, 1_000_000)
WAITING = 20_000  # jobs that get their verdict meanwhile
PER_USER = 10     # submissions of one user
BUCKET_SHIFT = 40  # of core/model/ranking.c

# So many submissions with a job and two runs each, from number ?1 + 1 to ?2.
NUMBERS = "WITH RECURSIVE c(i) AS (SELECT ?1 + 1 UNION ALL SELECT i + 1 FROM c WHERE i < ?2) "
FILL = (
    "INSERT INTO submissions (id, leaderboard, task, user, mode, file_name, code, state, created_at, done_at) SELECT i, 1, 1,"
    " 1000 + i / {per_user}, 'ranked', 'x.cpp', (SELECT max(id) FROM blobs), '{state}', i, {done} FROM c",
    "INSERT INTO jobs (id, submission, device, state, seed, queued_at, changed_at, done_at, score, low, high) SELECT i, i,"
    " 'CPU', '{state}', 1, i, i, {done}, {score}, {score} * 0.99, {score} * 1.01 FROM c",
    "INSERT INTO runs (job, mode, secret, passed, state, score) SELECT i, 'leaderboard', i % 2, 1, 'passed', {score} FROM c",
)
BEST = ("INSERT INTO best (leaderboard, device, user, submission, job, score, low, high, bucket, created_at, file_name,"
        " user_name) SELECT 1, 'CPU', user, s.id, j.id, min(j.score), j.low, j.high, bucket(min(j.score)), s.created_at,"
        " s.file_name, u.name FROM submissions s JOIN jobs j ON j.submission = s.id JOIN users u ON u.id = s.user WHERE"
        " j.state = 'passed' GROUP BY user")

SERIES = "min(score) OVER ({of} ORDER BY submission ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS before"
RECORDS = tuple(
    f"INSERT INTO records (leaderboard, device, user, submission, score) SELECT 1, 'CPU', {user}, submission, score FROM (SELECT *, {SERIES.format(of=of)}"
    f" FROM {runs}) WHERE before IS NULL OR score < before" for user, of, runs in (
        ("user", "PARTITION BY user", "(SELECT s.user, s.id AS submission, j.score FROM submissions s JOIN jobs j ON j.submission = s.id WHERE"
         " j.state = 'passed')"),
        ("0", "", "records")))


def bucket(score):
    return struct.unpack("<q", struct.pack("<d", score))[0] >> BUCKET_SHIFT


def fill(db, first, last, state):
    passed = state == "passed"
    score = "(0.001 + (i * 7919 % 1000003) * 1e-9)" if passed else "NULL"
    for statement in FILL[:3 if passed else 2]:
        text = statement.format(state=state, done="i" if passed else "NULL", score=score, per_user=PER_USER)
        into, select = text.split(" SELECT ", 1)
        db.execute(f"{NUMBERS} {into} SELECT {select}", (first, last))


def grow(path, before, size, waiting=WAITING):
    """Makes the board one of `size` submissions, with so many jobs that wait behind them."""
    import sqlite3
    db = sqlite3.connect(path)
    db.create_function("bucket", 1, bucket, deterministic=True)
    db.execute("DELETE FROM best")
    db.execute("DELETE FROM records")
    db.execute("DELETE FROM runs WHERE job > ?", (before,))
    db.execute("DELETE FROM jobs WHERE id > ?", (before,))
    db.execute("DELETE FROM submissions WHERE id > ?", (before,))
    last = (size + waiting) // PER_USER + 1
    db.execute(f"{NUMBERS} INSERT OR IGNORE INTO users (id, name, created_at) SELECT 1000 + i, 'user' || i, 1 FROM c",
               (-1, last))
    fill(db, before, size, "passed")
    for statement in (BEST, *RECORDS):
        db.execute(statement)
    fill(db, size, size + waiting, "queued")
    db.execute("ANALYZE")
    db.commit()
    db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    db.close()


def prepare(box):
    """The board `b`, of whose task one file will be the code of all submissions."""
    try:
        import sqlite3  # noqa: F401
    except ImportError as error:
        raise Cannot("this Python has no sqlite3") from error
    box.board("b")


def measure(section):
    with Box() as box:
        prepare(box)
        before = 0
        for size in SIZES:
            grow(box.database, before, size)
            before = size
            done = subprocess.run([str(TOOLS / "board_page"), str(box.database), "b", str(SECONDS)], capture_output=True,
                                  text=True, timeout=SECONDS + 60, check=False)
            if done.returncode:
                raise Cannot(done.stderr.strip()[-300:])
            answer = json.loads(done.stdout)
            section.add(f"first page, {size:,} submissions", *[us / 1e3 for us in answer["pages_us"]], target="p99 1 ms")
            section.add(f"first page after a change, {size:,} submissions", *[us / 1e3 for us in answer["changed_us"]],
                        target="p99 1 ms")
            section.add(f"first page after a change, CPU time, {size:,} submissions", *[us / 1e3 for us in answer["changed_cpu_us"]])
            section.add(f"first page, CPU time, {size:,} submissions", *[us / 1e3 for us in answer["cpu_us"]])
            section.add(f"verdict stored meanwhile, {size:,} submissions", *[us / 1e3 for us in answer["verdicts_us"]])
