/* SPDX-License-Identifier: MIT */
/* What makes pages live; every page and form works without it. The files are served as one. */
"use strict";
const kettle = {
	kinds: ["job.started", "job.requeued", "job.done", "submission.done", "submission.cancelled", "submission.deleted",
		"submission.rerun", "submission.flagged", "submission.unflagged", "rank.changed", "leaderboard.podium",
		"leaderboard.updated", "leaderboard.opened", "leaderboard.ended", "leaderboard.deleted"],

	/*
	 * Follows /api/v1/events?QUERY while the page is visible. handlers, each may be missing: progress(event) and event(event) with
	 * what came, reset(): events were lost, so what was made of them is read anew. A stream that breaks goes on where it was.
	 */
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
			source.onerror = () => { /* The browser connects again by itself, but after an answer that is none. */
				if (source && source.readyState === EventSource.CLOSED)
					timer = setTimeout(open, pause = Math.min(2 * pause, 300000));
			};
			for (const kind of kettle.kinds)
				source.addEventListener(kind, take(handlers.event));
			source.addEventListener("progress", take(handlers.progress));
			source.addEventListener("reset", take(handlers.reset && (() => handlers.reset())));
			source.addEventListener("caught_up", take(null));
			source.addEventListener("refused", close);
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
};
