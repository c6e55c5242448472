/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The text of /proc/PID/maps and /proc/PID/smaps (proc_pid_maps(5), proc_pid_smaps(5)), of a
 * process or of a file that somebody saved. It is read by hand: sscanf() would take longer than the
 * kernel takes to write it.
 */
#ifndef PROCESS_SMAPS_H
#define PROCESS_SMAPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum smaps_field {
	SMAPS_RSS,
	SMAPS_PSS,
	SMAPS_SHARED_DIRTY,
	SMAPS_PRIVATE_CLEAN,
	SMAPS_PRIVATE_DIRTY,
	SMAPS_SWAP,
	SMAPS_ANON_HUGE,
	SMAPS_SHMEM_HUGE,
	SMAPS_FILE_HUGE,
	SMAPS_SHARED_HUGETLB,
	SMAPS_PRIVATE_HUGETLB,
	SMAPS_FIELDS
};

struct smaps_entry {
	uint64_t start, end, offset, inode;
	uint32_t device;              /* major << 20 | minor */
	char flags[5];                /* "rw-p" */
	const char *name;             /* "" or in the text */
	uint64_t bytes[SMAPS_FIELDS]; /* of those that are known */
	uint32_t known;               /* bits 1u << enum smaps_field; 0: a line of maps */
	bool has_vm_flags;            /* the next two are known */
	bool is_device;  /* VmFlags "pf" or "io": pages that the kernel doesn't count */
	bool is_hugetlb; /* VmFlags "ht" */
};

/*
 * Hands over each mapping that the text describes, ascending. `text` ends with a NUL and is written
 * to: names get one, too. `take` returns false to end it, as when there is no memory. Returns how
 * many lines were left out: neither a mapping above the one before nor a field of it.
 */
size_t smaps_parse(char *text, bool (*take)(void *ctx, const struct smaps_entry *entry), void *ctx);

/* Whether a text begins as a line of maps does. */
bool smaps_begins(const char *text);

#endif
