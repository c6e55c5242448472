/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "cli/doctor.h"
#include "cli/runtime_find.h"
#include "process/living.h"

#define LIBRARY "libheapwise-rt.so"
#define RINGS "heapwise-rings."

/* The library was asked for, but did not come, or came and found nobody. */
static void look_at_failure(struct findings *findings, const struct living *p, bool loaded)
{
	if (loaded) {
		findings_add(findings, FINDING_PROBLEM, "recorded",
			"it has the runtime library, but is not recorded: no collector answered, "
			"or it was not wanted (--children)");
		findings_fix(findings, "start it again with 'heapwise run'");
	} else if (p->secure) {
		findings_add(findings, FINDING_PROBLEM, "recorded",
			"it was started with the runtime library, which the system left out: it "
			"runs with other rights than who started it (set-user-ID, capabilities)");
		findings_fix(findings,
			"record it as the user that it becomes, or a copy without the rights");
	} else {
		findings_add(findings, FINDING_PROBLEM, "recorded",
			"it was started with the runtime library (LD_PRELOAD), but does not have "
			"it: the program is static, or the library can't be found there");
		findings_fix(findings,
			"what follows may tell; else LD_DEBUG=libs in its environment does");
	}
}

static void look_at_recording(struct findings *findings, const struct living *p)
{
	const char *preload = living_getenv(p, "LD_PRELOAD");
	bool loaded = strstr(p->maps, LIBRARY);
	if (strstr(p->maps, RINGS)) {
		findings_add(findings, FINDING_OK, "recorded", "it is being recorded");
	} else if (loaded || (preload && strstr(preload, LIBRARY))) {
		look_at_failure(findings, p, loaded);
	} else {
		findings_add(findings, FINDING_PROBLEM, "recorded",
			"it is not being recorded, and only programs that heapwise starts can be");
		findings_fix(findings, "start it again: heapwise run -- %s",
			*p->command ? p->command : p->exe);
	}
}

static void look_at_confinement(struct findings *findings, const struct living *p)
{
	if (p->seccomp)
		findings_add(findings, FINDING_NOTE, "seccomp",
			"it has forbidden itself system calls (seccomp %s): threads and children "
			"that come later may not be recorded, which recordings say",
			p->seccomp == 1 ? "strict" : "filter");
	if (p->other_pids)
		findings_add(findings, FINDING_NOTE, "pid-namespace",
			"it is in another PID namespace (a container): it has another PID there");
	_cleanup_free_ char *runtime = p->other_mounts ? runtime_find() : NULL;
	char path[PATH_MAX + 32];
	snprintf(path, sizeof(path), "/proc/%d/root%s", (int)p->pid, runtime ? runtime : "");
	if (!runtime || access(path, R_OK) == 0)
		return;
	findings_add(findings, FINDING_PROBLEM, "mount-namespace",
		"it has mounts of its own (a container), and there is no %s in them", runtime);
	findings_fix(findings, "install heapwise there, or mount its folder at the same path");
}

/* Its program, found by way of its own mounts. */
static struct error *look_at_program(struct findings *findings, const struct living *p)
{
	static const char deleted[] = " (deleted)";
	size_t n = strlen(p->exe), tail = sizeof(deleted) - 1;
	if (n > tail && !strcmp(p->exe + n - tail, deleted)) {
		findings_add(findings, FINDING_NOTE, "program",
			"the file of its program was replaced or removed since it was started: %s",
			p->exe);
		findings_fix(findings, "start it again, to have names and lines");
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
	_cleanup_(living_deinit) struct living p;
	struct error *error = living_open(pid, &p);
	if (error)
		return error;
	look_at_recording(findings, &p);
	look_at_confinement(findings, &p);
	return look_at_program(findings, &p);
}
