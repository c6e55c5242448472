/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Whose memory it is: what a core says in NT_PRPSINFO, and /proc of a process. */
#ifndef PROCESS_CORE_OWNER_H
#define PROCESS_CORE_OWNER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* struct elf_prpsinfo (linux/elfcore.h) of 64-bit machines. */
#define CORE_OWNER_BYTES 136u

struct core_owner {
	pid_t pid, parent, group, session;
	uid_t uid;
	gid_t gid;
	char state;       /* as in /proc/PID/stat; 0: unknown */
	char name[17];    /* of the program; "" */
	char command[81]; /* its arguments with blanks between, as far as they fit; "" */
};

/* Reads the note NT_PRPSINFO. Returns false, and leaves *ret as it is, if the note is too short. */
bool core_owner_take(const uint8_t *note, size_t len, struct core_owner *ret);
/* Writes the note NT_PRPSINFO. */
void core_owner_put(const struct core_owner *owner, uint8_t ret[CORE_OWNER_BYTES]);

/* Fills *ret for a running process; what /proc does not say is empty. */
void core_owner_of_process(pid_t pid, struct core_owner *ret);

#endif
