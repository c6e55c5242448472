/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "capture/dumps/dump_owner.h"

#include <grp.h>
#include <signal.h>
#include <unistd.h>

#include "base/child.h"

/* How long removing a file of another user may take. */
#define UNLINK_S 30u

bool dump_owner_become(const struct dump_owner *owner)
{
	return !owner->is_other ||
	       (!setgroups(0, NULL) && !setresgid(owner->gid, owner->gid, owner->gid) &&
		       !setresuid(owner->uid, owner->uid, owner->uid));
}

/* In a process of its own, whose descriptors are copies of the collector's. */
static void unlink_as_owner(const struct dump_owner *owner, const char *name)
{
	sigset_t none;
	close_range(3, ~0u, 0);
	sigemptyset(&none);
	signal(SIGALRM, SIG_DFL);
	sigprocmask(SIG_SETMASK, &none, NULL);
	alarm(UNLINK_S);
	if (dump_owner_become(owner))
		unlink(name);
}

void dump_owner_unlink(const struct dump_owner *owner, const char *name)
{
	if (!owner->is_other) {
		unlink(name);
		return;
	}
	/* A child of a child: nobody has to wait for it. */
	pid_t child = fork();
	if (!child) {
		if (!fork())
			unlink_as_owner(owner, name);
		_exit(0);
	}
	if (child > 0)
		child_wait(child, NULL, 0);
}
