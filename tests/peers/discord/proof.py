# SPDX-License-Identifier: MIT
"""What the proofs share: a fake of their own, a server on it, and lines of TAP without numbers."""
import asyncio
import sys
import time
import traceback

import client

CHANNELS = [{"name": "general"}, {"name": "boards", "type": "forum"}, {"name": "news", "type": "announcement"},
            {"name": "closed", "overwrites": [{"role": "@everyone", "deny": ["VIEW_CHANNEL"]}]},
            {"name": "mute", "overwrites": [{"role": role, "deny": ["SEND_MESSAGES"]} for role in ("@everyone", "kettle")]}]
MEMBERS = [{"name": "ada", "roles": ["Admin"]}, {"name": "bob"}, {"name": "eve", "dms": False}]


def start(**settings):
    """A fake with a server that has users, roles and channels; what the libraries do that the bot must not is allowed."""
    fake = client.Fake(sys.executable, integer_ids=True, heartbeat_interval_ms=500, heartbeat_grace_ms=20000,
                       identify_window_s=0.2, **settings)
    fake.ids = fake.post("guild", name="Proof", roles=[{"name": "Admin"}], members=MEMBERS, channels=CHANNELS)
    # Small ones, which are full again soon.
    fake.post("buckets", **{"POST /channels/{channel}/messages": [4, 0.5], "GET /channels/{channel}/messages": [4, 0.5]})
    return fake


async def control(function, *args, **more):
    """A control from a program that must go on meanwhile."""
    return await asyncio.get_running_loop().run_in_executor(None, lambda: function(*args, **more))


def passed(name, error=None, seconds=0):
    print(f"{'not ok' if error else 'ok'} - {name}" + f"\n# {seconds:.1f} s" * (seconds > 1), flush=True)
    if error:
        print("".join(f"# {line}\n" for line in "".join(traceback.format_exception(error)).splitlines()), end="", flush=True)


def unbroken(fake):
    """Fails if a rule was broken that no step breaks on purpose."""
    rules = ("gateway", "heartbeat", "fake", "callback", "modal")
    wrong = [one for one in fake.get("violations")["violations"] if one["rule"] in rules]
    assert not wrong, wrong


async def go_through(who, steps):
    """Runs the steps in order; one that fails does not stop the others. Each may take a while, never forever."""
    for step in steps:
        began = time.monotonic()
        try:
            await asyncio.wait_for(step(), 30 * client.BUSY)
            passed(f"{who}: {step.__doc__}", seconds=time.monotonic() - began)
        except (Exception, asyncio.TimeoutError) as error:
            passed(f"{who}: {step.__doc__}", error)


async def until(condition, seconds=30):
    """Waits until condition() is true; its value."""
    end = asyncio.get_running_loop().time() + seconds * client.BUSY
    while not (value := condition()):
        if asyncio.get_running_loop().time() > end:
            raise AssertionError("a condition did not come true")
        await asyncio.sleep(0.01)
    return value
