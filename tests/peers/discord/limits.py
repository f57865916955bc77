# SPDX-License-Identifier: MIT
"""Rate limits: buckets per route and top-level resource, the overall limit, the count of invalid requests; and the faults
that tests put between the bot and Discord."""
import collections
import hashlib
import itertools
import re

# (limit, seconds) by method and template; everything else has DEFAULT.
BUCKETS = {("POST", "/channels/{channel}/messages"): (5, 5.0), ("PATCH", "/channels/{channel}/messages/{message}"): (5, 5.0),
           ("DELETE", "/channels/{channel}/messages/{message}"): (5, 1.0), ("GET", "/channels/{channel}/messages"): (5, 5.0),
           ("POST", "/channels/{channel}/threads"): (50, 300.0), ("PUT", "/channels/{channel}/thread-members/{user}"): (10, 10.0),
           ("PATCH", "/channels/{channel}"): (10, 15.0), ("POST", "/webhooks/{webhook}/{token}"): (5, 2.0),
           ("PATCH", "/webhooks/{webhook}/{token}/messages/@original"): (5, 2.0),
           ("PATCH", "/webhooks/{webhook}/{token}/messages/{message}"): (5, 2.0)}
DEFAULT = (20, 5.0)
INVALID_WINDOW, BAN = 600, 3600
UNDERWAY = 0.25  # seconds in which an answer reaches the bot


class Bucket:
    def __init__(self, limit, seconds):
        self.limit, self.seconds, self.used, self.until, self.empty = limit, seconds, 0, 0.0, None

    def take(self, now):
        """Whether one more request fits."""
        if now >= self.until:
            self.used, self.until, self.empty = 0, now + self.seconds, None
        self.used += 1
        if self.used == self.limit:
            self.empty = now
        return self.used <= self.limit

    def told(self, now):
        """Whether the bot knows that the bucket is empty: some time ago an answer said so."""
        return self.empty is not None and now - self.empty > UNDERWAY


class Limits:
    def __init__(self, world):
        self.world, self.buckets, self.configured = world, {}, dict(BUCKETS)
        self.second, self.in_second, self.global_until = 0, 0, 0.0
        self.invalid = collections.deque()
        self.banned_until = 0.0

    def configure(self, given):
        """{"POST /channels/{channel}/messages": [5, 5.0]}"""
        for key, (limit, seconds) in given.items():
            method, _, template = key.partition(" ")
            self.configured[method, template] = int(limit), float(seconds)
        self.buckets.clear()

    def bucket(self, method, template, major):
        key = method, template, major
        if key not in self.buckets:
            self.buckets[key] = Bucket(*self.configured.get((method, template), DEFAULT))
        return self.buckets[key]

    def headers(self, method, template, bucket, now):
        name = hashlib.md5(f"{method} {template}".encode()).hexdigest()
        return {"X-RateLimit-Limit": str(bucket.limit), "X-RateLimit-Remaining": str(max(0, bucket.limit - bucket.used)),
                "X-RateLimit-Reset": f"{bucket.until:.3f}", "X-RateLimit-Reset-After": f"{max(0.0, bucket.until - now):.3f}",
                "X-RateLimit-Bucket": name}

    def over_all(self, now):
        """Seconds to wait because of the overall limit, or None."""
        if now < self.global_until:
            return self.global_until - now
        if int(now) != self.second:
            self.second, self.in_second = int(now), 0
        self.in_second += 1
        if self.in_second > self.world.settings["global_limit"]:
            self.global_until = self.second + 1
            return self.global_until - now
        return None

    def count_invalid(self, now):
        """401, 403 and 429 (but not of a shared resource) count; too many ban the address for an hour."""
        self.invalid.append(now)
        while self.invalid and self.invalid[0] < now - INVALID_WINDOW:
            self.invalid.popleft()
        if len(self.invalid) >= self.world.settings["invalid_limit"]:
            self.banned_until = now + BAN
            self.world.violate("ban", f"{len(self.invalid)} invalid requests within {INVALID_WINDOW} s")


class Fault:
    numbers = itertools.count(1)

    def __init__(self, given):
        self.identifier = next(self.numbers)
        match = given.get("match", {})
        self.method, self.path = match.get("method"), re.compile(match.get("path", ""))
        self.body = re.compile(match["body"]) if "body" in match else None
        self.after, self.times, self.action, self.hits = given.get("after", 0), given.get("times", 1), given["do"], 0

    def applies(self, method, path, body):
        if self.times == 0 or self.method not in (None, method) or not self.path.search(path):
            return False
        if self.body and not self.body.search(body):
            return False
        if self.after > 0:
            self.after -= 1
            return False
        if self.times is not None:
            self.times -= 1
        self.hits += 1
        return True

    def json(self):
        return {"id": self.identifier, "hits": self.hits, "left": self.times, "do": self.action}
