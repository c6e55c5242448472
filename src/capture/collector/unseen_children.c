/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "capture/collector/unseen_children.h"

#include "base/cleanup.h"
#include "capture/collector/newer_pids.h"
#include "capture/session.h"
#include "format/shm.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define WINDOW (64u << 10)
/* Numbers; each that no process has takes about a microsecond. */
#define TRIED_MAX 128

/* What a process of the session is known by. */
struct marks {
	char variable[256];       /* in its environment; the NUL belongs to it */
	char mapping[256];        /* in its memory map: from its own recording or one of a parent */
	unsigned long long began; /* none began before, in clock ticks */
};

/* Looks for `needle` through a window that moves on by less than its size.
 */
static bool file_has(int fd, const char *needle, size_t bytes, char *window)
{
	size_t held = 0;
	for (ssize_t n; (n = read(fd, window + held, WINDOW - held)) > 0;) {
		held += (size_t)n;
		if (memmem(window, held, needle, bytes))
			return true;
		size_t kept = held < bytes ? held : bytes - 1;
		memmove(window, window + held - kept, kept);
		held = kept;
	}
	return false;
}

static bool file_has_text(
	int proc, const char *pid, const char *file, const char *needle, size_t bytes, char *window)
{
	char path[300];
	snprintf(path, sizeof(path), "%.255s/%s", pid, file);
	_cleanup_close_ int fd = openat(proc, path, O_RDONLY | O_CLOEXEC);
	return fd >= 0 && file_has(fd, needle, bytes, window);
}

/*
 * When a process began, in clock ticks since the machine did: the 20th field after its name
 * (proc(5), /proc/PID/stat, "starttime"); 0: not to be known.
 */
static unsigned long long process_start_ticks(int proc, const char *pid)
{
	char path[300], text[1024];
	snprintf(path, sizeof(path), "%.255s/stat", pid);
	_cleanup_close_ int fd = openat(proc, path, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? 0 : read(fd, text, sizeof(text) - 1);
	text[n > 0 ? n : 0] = 0;
	char *at = strrchr(text, ')');
	for (int field = 0; at && field < 20; field++)
		at = strchr(at + 1, ' ');
	return at ? strtoull(at, NULL, 10) : 0;
}

/* Reading the maps of all processes of a machine takes longer than many a recording does. */
static bool is_survivor(int proc, const char *pid, const struct marks *m, char *window)
{
	if (process_start_ticks(proc, pid) < m->began)
		return false;
	return file_has_text(proc, pid, "environ", m->variable, strlen(m->variable) + 1, window) ||
	       file_has_text(proc, pid, "maps", m->mapping, strlen(m->mapping), window);
}

/* The process to look at after `pid`; 0: there is none. A few numbers are tried one by one, which
 * does not depend on how many processes the machine has. */
static pid_t next_pid(DIR *proc, const struct newer_pids *newer, pid_t pid)
{
	if (newer->known && newer->last >= newer->first && newer->last - newer->first <= TRIED_MAX)
		return pid < newer->last ? pid + 1 : 0;
	for (struct dirent *entry; (entry = readdir(proc));) {
		char *end;
		long found = strtol(entry->d_name, &end, 10);
		if (found > 0 && !*end && newer_pids_has(newer, (pid_t)found))
			return (pid_t)found;
	}
	return 0;
}

void unseen_children_each(const char *session_path, uint64_t age_ns,
	void (*found)(void *context, pid_t pid), void *context)
{
	const struct newer_pids newer = newer_pids_of_self(age_ns);
	if (newer_pids_is_empty(&newer))
		return;
	struct marks marks;
	char mapping[HW_SESSION_BYTES];
	session_mapping(session_path, mapping);
	snprintf(marks.variable, sizeof(marks.variable), HW_SESSION_ENV "=%s", session_path);
	snprintf(marks.mapping, sizeof(marks.mapping), "%s", mapping);
	_cleanup_free_ char *window = malloc(WINDOW);
	DIR *proc = window ? opendir("/proc") : NULL;
	if (!proc)
		return;
	/* Of the session's processes only the first can be older than this one: it is known. */
	unsigned long long own = process_start_ticks(dirfd(proc), "self"),
			   slack = (unsigned long long)sysconf(_SC_CLK_TCK);
	marks.began = own > slack ? own - slack : 0;
	pid_t pid = newer.first;
	while ((pid = next_pid(proc, &newer, pid)) > 0) {
		char name[16];
		snprintf(name, sizeof(name), "%d", (int)pid);
		if (is_survivor(dirfd(proc), name, &marks, window))
			found(context, pid);
	}
	closedir(proc);
}
