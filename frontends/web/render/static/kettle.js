/* SPDX-License-Identifier: MIT */
/* What makes pages live; every page and form works without it. The files are served as one. */
"use strict";
const kettle = {
	kinds: ["job.started", "job.requeued", "job.done", "submission.done", "submission.cancelled", "submission.deleted",
		"submission.rerun", "submission.flagged", "submission.unflagged", "rank.changed", "leaderboard.podium",
		"leaderboard.updated", "leaderboard.opened", "leaderboard.ended", "leaderboard.deleted"],

	/* Follows /api/v1/events?QUERY while the page is visible. A stream that breaks goes on where it was. */
	/* handlers, each may be missing: progress(event), event(event), and reset(): events were lost, so all is read anew. */
	events(query, handlers) {
		let source = null, last = "", opened = false, pause = 1000, timer = 0;
		const take = (handler) => (message) => {
			last = message.lastEventId || last;
			if (handler)
				handler(JSON.parse(message.data));
		};
		const close = () => {
			clearTimeout(timer);
			if (source)
				source.close();
			source = null;
		};
		const open = () => {
			const parameters = new URLSearchParams(query);
			if (last)
				parameters.set("after", last);
			close();
			source = new EventSource("/api/v1/events?" + parameters);
			source.onopen = () => {
				if (opened && !last && handlers.reset)
					handlers.reset();
				opened = true;
				pause = 1000;
			};
			source.onerror = () => { /* The browser connects again by itself, but after an answer that is none: what is followed may have gone. */
				if (!source || source.readyState !== EventSource.CLOSED)
					return;
				if (pause === 1000)
					handlers.reset?.();
				timer = setTimeout(open, pause = Math.min(2 * pause, 300000));
			};
			for (const kind of kettle.kinds)
				source.addEventListener(kind, take(handlers.event));
			source.addEventListener("progress", take(handlers.progress));
			source.addEventListener("reset", take(handlers.reset && (() => handlers.reset())));
			source.addEventListener("caught_up", take(null));
			source.addEventListener("refused", () => { /* By this name it is no more: the page tells what became of it. */
				close();
				handlers.reset?.();
			});
		};
		const follow = () => document.hidden ? close() : open();
		document.addEventListener("visibilitychange", follow); /* A browser has few connections for all its tabs. */
		follow();
	},

	/* A function that runs `work`, which may return a promise, soon after it is called, but at most once a second. */
	calmly(work) {
		let waits = false, again = false;
		const run = async () => {
			again = false;
			waits = true;
			try {
				await work();
			} catch {
				/* The next event tries again. */
			}
			setTimeout(() => {
				waits = false;
				if (again)
					run();
			}, 1000);
		};
		return () => waits ? again = true : run();
	},

	/* Replaces a part of the page by a fresh one: its place is kept, and rows with data-key move to where they are now. */
	swap(old, fresh) {
		const focused = old.contains(document.activeElement) ? document.activeElement : null;
		if (old.isEqualNode(fresh) || (focused && focused.matches("input, select, textarea")))
			return;
		const scrolls = Array.from(old.querySelectorAll(".scroll"), (box) => box.scrollLeft);
		const tops = new Map(Array.from(old.querySelectorAll("[data-key]"), (row) => [row.dataset.key, row.getBoundingClientRect().top]));
		const ranks = kettle.ranks(old);
		old.replaceWith(fresh);
		fresh.querySelectorAll(".scroll").forEach((box, i) => box.scrollLeft = scrolls[i] || 0);
		const same = (link) => link.id === focused.id && link.ariaLabel === focused.ariaLabel && link.href === focused.href && link.tagName === focused.tagName;
		if (focused)
			Array.from(fresh.querySelectorAll("a, button, summary, [tabindex]")).find(same)?.focus({preventScroll: true});
		for (const [device, rank] of kettle.ranks(fresh))
			if (ranks.get(device) !== rank)
				kettle.say(`Your place${device}: ${rank}`);
		if (tops.size === 0 || matchMedia("(prefers-reduced-motion: reduce)").matches)
			return;
		for (const row of fresh.querySelectorAll("[data-key]")) {
			const by = tops.get(row.dataset.key) - row.getBoundingClientRect().top; /* NaN: the row is new */
			if (by !== 0)
				row.animate([by ? {transform: `translateY(${by}px)`} : {opacity: 0}, {}], {duration: 700, easing: "ease-in-out"});
		}
	},

	/* The user's own places: of rows with the class mine, by device (data-device). */
	ranks(part) {
		const rows = Array.from(part.querySelectorAll("tr.mine"));
		return new Map(rows.map((row) => [row.dataset.device ? " on " + row.dataset.device : "", row.dataset.rank || row.cells[0].textContent.trim()]));
	},

	/* Has a screen reader say a text. */
	say(text) {
		kettle.voice.textContent = text;
	},

	/* Reads the page anew, and takes from it the elements with data-live, and the one called ranking. */
	async renew() {
		const answer = await fetch(location.href, {headers: {Accept: "text/html"}});
		if (answer.status === 404 || answer.redirected)
			location.replace(answer.url);
		if (!answer.ok || answer.redirected)
			return;
		const page = new DOMParser().parseFromString(await answer.text(), "text/html");
		for (const old of document.querySelectorAll("[data-live], #ranking")) {
			const fresh = page.getElementById(old.id);
			if (fresh)
				kettle.swap(old, document.importNode(fresh, true));
		}
		document.dispatchEvent(new Event("kettle:renewed"));
	},

	/* The page of a board follows it: an element says its name (data-live-board), and whether all places are said (data-say). */
	board({liveBoard, say}) {
		const renew = kettle.calmly(kettle.renew);
		kettle.voice = document.body.appendChild(document.createElement("p"));
		kettle.voice.className = "hidden-text";
		kettle.voice.setAttribute("role", "status");
		kettle.events("leaderboard=" + encodeURIComponent(liveBoard), {
			event(event) {
				if (event.data?.was)
					location.pathname = location.pathname.replace(/^\/board\/[^/]+/, "/board/" + encodeURIComponent(event.data.name));
				else if (event.kind !== "job.started" && event.kind !== "job.requeued")
					renew();
				if (say && event.kind === "rank.changed" && event.data.after)
					kettle.say(`${event.user_name}: place ${event.data.after} on ${event.data.device}`);
			},
			reset: renew,
		});
	},
};

document.addEventListener("DOMContentLoaded", () => {
	const board = document.querySelector("[data-live-board]");
	if (board)
		kettle.board(board.dataset);
});

/* The local time of a time, where the pointer rests on it. */
document.addEventListener("mouseover", ({target}) => {
	const time = target.closest("time[datetime]");
	if (!time || time.dataset.local)
		return;
	time.dataset.local = new Date(time.dateTime).toLocaleString(undefined, {dateStyle: "medium", timeStyle: "long"});
	time.title = [time.title, time.dataset.local].filter(Boolean).join(" · ");
});
