/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * With whose rights a dump is written and removed. A collector that is root's may record processes
 * of other users: a name that such a process has chosen must lead to nothing that its user can't
 * reach.
 */
#ifndef CAPTURE_DUMP_OWNER_H
#define CAPTURE_DUMP_OWNER_H

#include <stdbool.h>
#include <sys/types.h>

struct dump_owner {
	bool is_other; /* false: it is the collector's user */
	uid_t uid;     /* else */
	gid_t gid;
};

/* Takes on the owner's rights, without other groups, for good: for forked copies of the collector.
 * Returns false if that fails. */
bool dump_owner_become(const struct dump_owner *owner);

/* Removes a file with the owner's rights; nothing happens if these don't suffice. Another user's
 * file system may never answer: this does not wait for it. */
void dump_owner_unlink(const struct dump_owner *owner, const char *name);

#endif
