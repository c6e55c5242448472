/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "cli/doctor/doctor.h"
#include "cli/setup/runtime_find.h"
#include "process/proc_info.h"
#include "process/program.h"

#define LIBRARY "libheapwise-rt.so"
#define LIBRARIES "libheapwise-" /* that one, and those beside it */
#define RINGS "heapwise-rings."

/* The library was asked for, but did not come, or came and found nobody. */
static void look_at_failure(struct findings *findings, const struct proc_info *p, bool loaded)
{
	if (loaded) {
		findings_add(findings, FINDING_PROBLEM, "recorded",
			"it has the runtime library, but is not recorded: no collector answered, "
			"or it was excluded (--children)");
		findings_fix(findings, "start it again with 'heapwise run'");
	} else if (p->secure) {
		findings_add(findings, FINDING_PROBLEM, "recorded",
			"it was started with the runtime library, but the system ignored that: it "
			"runs with other rights than its caller (set-user-ID, capabilities)");
		findings_fix(findings, "record it as the user that it runs as, or record a copy "
				       "without these rights");
	} else {
		findings_add(findings, FINDING_PROBLEM, "recorded",
			"it was started with the runtime library (LD_PRELOAD), but does not have "
			"it: the program is static, or the library can't be found there");
		findings_fix(findings,
			"see below; otherwise set LD_DEBUG=libs in its environment to find out");
	}
}

/* Where a preloaded library is that LD_PRELOAD names without a folder: as it is mapped, which is
 * the file that a link leads to (libx.so.4.5 for libx.so.4). */
static char *mapped_path(const struct proc_info *p, const char *name)
{
	_cleanup_free_ char *tail = NULL;
	if (asprintf(&tail, "/%s", name) < 0) {
		tail = NULL;
		return NULL;
	}
	const char *found = strstr(p->maps, tail), *start = found;
	while (start && start > p->maps && start[-1] != ' ' && start[-1] != '\n')
		start--;
	return found ? strndup(start, strcspn(start, "\n")) : NULL;
}

static bool library_defines_malloc(const struct proc_info *p, const char *name)
{
	_cleanup_free_ char *mapped = strchr(name, '/') ? strdup(name) : mapped_path(p, name);
	char path[PATH_MAX + 32];
	if (!mapped)
		return false;
	snprintf(path, sizeof(path), "/proc/%d/root%s", (int)p->pid, mapped);
	return program_defines_malloc(p->other_mounts ? path : mapped);
}

/* Libraries that LD_PRELOAD names before ours: whether one has a malloc, which then is called. */
static void look_at_order(struct findings *findings, const struct proc_info *p)
{
	const char *preload = proc_info_getenv(p, "LD_PRELOAD");
	_cleanup_free_ char *names = strdup(preload && strstr(preload, LIBRARY) ? preload : "");
	char *rest = NULL, *name = names ? strtok_r(names, ": ", &rest) : NULL;
	for (; name && !strstr(name, LIBRARY); name = strtok_r(NULL, ": ", &rest)) {
		if (!library_defines_malloc(p, name))
			continue;
		findings_add(findings, FINDING_PROBLEM, "malloc-in-front",
			"LD_PRELOAD names %s before " LIBRARY
			", and it defines malloc: its calls can't be recorded",
			name);
		findings_fix(findings, "put " LIBRARY " first, or use 'heapwise run'");
	}
}

/* systemd sets that for the first process of a service alone; children inherit it. */
static void look_at_service(struct findings *findings, const struct proc_info *p)
{
	const char *of = proc_info_getenv(p, "SYSTEMD_EXEC_PID");
	const char *preload = proc_info_getenv(p, "LD_PRELOAD");
	_cleanup_free_ char *names =
		of && atoi(of) == (int)p->pid && preload ? strdup(preload) : NULL;
	char *rest = NULL;
	bool ours = false;
	for (char *name = names ? strtok_r(names, ": ", &rest) : NULL; name;
		name = strtok_r(NULL, ": ", &rest)) {
		if (!strstr(name, LIBRARIES))
			return;
		ours = true;
	}
	if (!ours)
		return;
	findings_add(findings, FINDING_NOTE, "preload-replaced",
		"only the recorder is preloaded into this service: if its unit has its own "
		"LD_PRELOAD (say, an allocator), the recorder has replaced it");
	findings_fix(findings, "append the unit's own to LD_PRELOAD in the drop-in, after a colon");
}

void doctor_preload_order(struct findings *findings)
{
	_cleanup_(proc_info_deinit) struct proc_info p;
	_cleanup_error_ struct error *error = proc_info_read(getpid(), &p);
	if (!error)
		look_at_order(findings, &p);
}

static void look_at_recording(struct findings *findings, const struct proc_info *p)
{
	const char *preload = proc_info_getenv(p, "LD_PRELOAD");
	bool loaded = strstr(p->maps, LIBRARY);
	if (strstr(p->maps, RINGS)) {
		findings_add(findings, FINDING_OK, "recorded", "it is being recorded");
	} else if (loaded || (preload && strstr(preload, LIBRARY))) {
		look_at_failure(findings, p, loaded);
	} else {
		findings_add(findings, FINDING_PROBLEM, "recorded",
			"it is not being recorded, and only programs that are started with "
			"heapwise can be");
		findings_fix(findings, "start it again: heapwise run -- %s",
			*p->command ? p->command : p->exe);
	}
}

static void look_at_confinement(struct findings *findings, const struct proc_info *p)
{
	if (p->seccomp)
		findings_add(findings, FINDING_NOTE, "seccomp",
			"it has forbidden itself system calls (seccomp %s): threads and children "
			"that come later may not be recorded, which recordings say",
			p->seccomp == 1 ? "strict" : "filter");
	if (p->other_pids)
		findings_add(findings, FINDING_NOTE, "pid-namespace",
			"it is in another PID namespace (a container): it has another PID there");
	_cleanup_free_ char *runtime = NULL;
	if (p->other_mounts)
		error_destroy(runtime_find(&runtime)); /* without it nothing is said */
	char path[PATH_MAX + 32];
	snprintf(path, sizeof(path), "/proc/%d/root%s", (int)p->pid, runtime ? runtime : "");
	if (!runtime || access(path, R_OK) == 0)
		return;
	findings_add(findings, FINDING_PROBLEM, "mount-namespace",
		"it has mounts of its own (a container), and there is no %s in them", runtime);
	findings_fix(findings, "install heapwise there, or mount its folder at the same path");
}

/* Its program, found by way of its own mounts. */
static struct error *look_at_program(struct findings *findings, const struct proc_info *p)
{
	static const char deleted[] = " (deleted)";
	size_t n = strlen(p->exe), tail = sizeof(deleted) - 1;
	if (n > tail && !strcmp(p->exe + n - tail, deleted)) {
		findings_add(findings, FINDING_NOTE, "program",
			"the file of its program was replaced or removed since it was started: %s",
			p->exe);
		findings_fix(findings, "restart it to get names and lines");
		return NULL;
	}
	_cleanup_free_ char *path = NULL;
	if (asprintf(&path, "/proc/%d/root%s", (int)p->pid, p->exe) < 0) {
		path = NULL;
		return error_no_memory();
	}
	return doctor_program(findings, p->other_mounts ? path : p->exe);
}

struct error *doctor_process(struct findings *findings, pid_t pid)
{
	_cleanup_(proc_info_deinit) struct proc_info p;
	struct error *error = proc_info_read(pid, &p);
	if (error)
		return error;
	look_at_recording(findings, &p);
	look_at_order(findings, &p);
	look_at_service(findings, &p);
	look_at_confinement(findings, &p);
	return look_at_program(findings, &p);
}
