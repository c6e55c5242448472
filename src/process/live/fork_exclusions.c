/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "process/fork_exclusions.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"

/* Begins a mapping: "7f12…-7f13… rw-p 00000000 00:00 0   PATH"; a field's name has a capital. */
static bool is_head(const char *line)
{
	return isdigit((unsigned char)*line) || islower((unsigned char)*line);
}

static bool is_of_interest(char *head, const struct fork_exclusions_known *known)
{
	uint64_t start, end;
	char flags[5];
	int path = 0;
	head[strcspn(head, "\n")] = 0;
	if (sscanf(head, "%" SCNx64 "-%" SCNx64 " %4s %*x %*s %*u %n", &start, &end, flags, &path) <
			3 ||
		flags[0] != 'r' || flags[1] != 'w')
		return false;
	const char *name = path ? head + path : "";
	bool device = !strncmp(name, "/dev/", 5) && strncmp(name, "/dev/zero", 9) &&
		      strncmp(name, "/dev/shm/", 9);
	return !device && !known->is_known(known->context, start, end, name);
}

/* "Rss:", "Swap:", with more than nothing. */
static bool holds_pages(const char *line)
{
	static const char *const names[] = {"Rss:", "Swap:"};
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		size_t len = strlen(names[i]);
		if (!strncmp(line, names[i], len))
			return strtoull(line + len, NULL, 10);
	}
	return false;
}

/* proc_pid_smaps(5): dc: not copied on fork; wf: wiped on fork; um, uw, ui: userfaultfd. What was
 * never written reads as zeros, and so does the wiped copy of it. */
static bool is_unforked(const char *flags, bool has_pages)
{
	static const char *const names[] = {" dc", " um", " uw", " ui"};
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		if (strstr(flags, names[i]))
			return true;
	}
	return has_pages && strstr(flags, " wf");
}

bool process_has_fork_exclusions(pid_t pid, const struct fork_exclusions_known *known)
{
	char path[64];
	snprintf(path, sizeof(path), "/proc/%d/smaps", (int)pid);
	_cleanup_fclose_ FILE *file = fopen(path, "re");
	_cleanup_free_ char *line = NULL;
	size_t room = 0;
	bool interest = false, has_pages = false, found = !file;
	while (!found && getline(&line, &room, file) > 0) {
		if (is_head(line)) {
			interest = is_of_interest(line, known);
			has_pages = false;
		} else if (interest && !strncmp(line, "VmFlags:", 8)) {
			found = is_unforked(line + 8, has_pages);
		} else if (interest && holds_pages(line)) {
			has_pages = true;
		}
	}
	return found;
}
