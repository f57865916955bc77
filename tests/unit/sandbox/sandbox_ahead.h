/* SPDX-License-Identifier: MIT */
/* A program that is prepared ahead of its run, for sandbox_probe. */
#pragma once

/*
 * args: what it is like. "works" starts a thread as a driver does, says that it is ready, waits for its run and reports
 * how that looks; "ends" and "hangs" do so before they are ready, "leaves" when it has its run.
 */
int ahead_run(char **args);
