/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which numbers of processes were handed out after this process's own. */
#include <signal.h>
#include <unistd.h>

#include "capture/collector/newer_pids.h"
#include "lib/tap.h"

CASE(in_order, "numbers after the first, up to the last")
{
	const struct newer_pids newer = {.first = 100, .last = 103, .known = true};
	CHECK(!newer_pids_is_empty(&newer));
	CHECK(!newer_pids_has(&newer, 99) && !newer_pids_has(&newer, 100));
	CHECK(newer_pids_has(&newer, 101) && newer_pids_has(&newer, 103));
	CHECK(!newer_pids_has(&newer, 104));
}

CASE(past_the_highest, "numbers that begin anew")
{
	const struct newer_pids newer = {.first = 32760, .last = 310, .known = true};
	CHECK(!newer_pids_is_empty(&newer));
	CHECK(newer_pids_has(&newer, 32761) && newer_pids_has(&newer, 300));
	CHECK(newer_pids_has(&newer, 310) && !newer_pids_has(&newer, 311));
	CHECK(!newer_pids_has(&newer, 32760));
}

CASE(none, "no number was handed out")
{
	const struct newer_pids newer = {.first = 100, .last = 100, .known = true};
	CHECK(newer_pids_is_empty(&newer));
	CHECK(!newer_pids_has(&newer, 100) && !newer_pids_has(&newer, 101));
}

CASE(unknown, "any process may be newer if there was time to go round")
{
	const struct newer_pids newer = newer_pids_of_self(UINT64_MAX);
	CHECK(!newer.known && !newer_pids_is_empty(&newer));
	CHECK(newer_pids_has(&newer, 1) && newer_pids_has(&newer, getppid()));
}

CASE(child, "a child is newer, its parents are not")
{
	if (access("/proc/sys/kernel/ns_last_pid", R_OK))
		exit(TAP_EXIT_SKIPPED);
	pid_t child = fork();
	if (!child) {
		pause();
		_exit(0);
	}
	const struct newer_pids newer = newer_pids_of_self(0);
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
	CHECK(newer.known && !newer_pids_is_empty(&newer));
	CHECK(newer_pids_has(&newer, child));
	CHECK(!newer_pids_has(&newer, getpid()) && !newer_pids_has(&newer, getppid()));
}

TAP_MAIN
