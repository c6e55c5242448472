/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What `heapwise check` can do. Nothing here keeps from recording: all are notes. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/util.h"
#include "cli/check/check_library.h"
#include "cli/check/engine_try.h"
#include "cli/check/engine_valgrind.h"
#include "cli/doctor/doctor.h"
#include "cli/setup/runtime_find.h"
#include "process/program.h"
#include "views/errors_view.h"

/* Ways to guard blocks, as --backend names them. */
static const struct way {
	enum hw_check_backend backend;
	const char *word;
} ways[] = {
	{HW_BACKEND_MADVISE, "madvise"}, {HW_BACKEND_UFFD, "uffd"},
	{HW_BACKEND_MPROTECT, "mprotect"}, {HW_BACKEND_NONE, "none"}, /* canaries alone */
};

static void note_limits(struct findings *findings, const struct hw_check_sums *sums)
{
	_cleanup_(text_deinit) struct text text;
	text_init(&text);
	if (!sums->limits)
		return;
	errors_view_limits(sums->limits, &text);
	findings_add(findings, FINDING_NOTE, "check-limits",
		"'heapwise check' guards less here than it is asked for, limited by %s",
		text.data ? text.data : "");
	findings->failed |= text.failed;
	if (sums->limits & HW_CHECK_LIMIT_SPACE)
		findings_fix(findings, "ulimit -S -v unlimited");
}

/* "65530"; "not known" */
static void read_mappings_most(char ret[static 32])
{
	_cleanup_fclose_ FILE *file = fopen("/proc/sys/vm/max_map_count", "re");
	if (!file || fscanf(file, "%31[0-9]", ret) != 1)
		strcpy(ret, "not known");
}

static void note_backend(
	struct findings *findings, enum hw_check_backend chosen, const struct text *each)
{
	const char *fix = "Linux 6.13 has madvise for it; or let a container's seccomp profile "
			  "allow userfaultfd (Linux 5.11)";
	char most[32];
	read_mappings_most(most);
	if (chosen == HW_BACKEND_NONE) {
		findings_add(findings, FINDING_NOTE, "check-backend",
			"'heapwise check' can't make memory inaccessible here, so it finds no "
			"reads, and writes late (--backend: %s)",
			each->data);
		findings_fix(findings, "heapwise check --engine=valgrind");
	} else if (chosen == HW_BACKEND_MPROTECT) {
		findings_add(findings, FINDING_NOTE, "check-backend",
			"'heapwise check' guards as many blocks here as the number of mappings "
			"allows: a quarter of vm.max_map_count, which is %s (--backend: %s)",
			most, each->data);
		findings_fix(findings, "%s", fix);
	} else {
		findings_add(findings, FINDING_OK, "check-backend",
			"'heapwise check' can guard blocks (--backend: %s; vm.max_map_count is %s)",
			each->data, most);
	}
}

static struct error *look_at_ways(
	struct findings *findings, const char *path, const struct hw_check_sums *chosen)
{
	_cleanup_(text_deinit) struct text each;
	text_init(&each);
	for (size_t i = 0; i < ARRAY_SIZE(ways); i++) {
		struct hw_check_sums sums;
		struct error *error = check_library_try(path, ways[i].word, &sums);
		if (error)
			return error;
		bool works = sums.backend == ways[i].backend;
		text_printf(&each, "%s%s %s", i ? ", " : "", ways[i].word,
			chosen->backend == ways[i].backend ? "is taken"
			: works                            ? "works"
							   : "does not work");
	}
	if (each.failed)
		return error_no_memory();
	note_backend(findings, chosen->backend, &each);
	note_limits(findings, chosen);
	return NULL;
}

static void look_at_library(struct findings *findings, const char *runtime)
{
	_cleanup_(text_deinit) struct text path;
	struct hw_check_sums chosen;
	text_init(&path);
	_cleanup_error_ struct error *missing = check_library_find(runtime, &path);
	if (missing) {
		findings_add(findings, FINDING_NOTE, "check-library", "%s", missing->message);
		return;
	}
	struct error *error = check_library_try(path.data, "auto", &chosen);
	if (!error)
		error = look_at_ways(findings, path.data, &chosen);
	if (!error)
		return;
	findings_add(findings, FINDING_NOTE, "check-library",
		"what 'heapwise check' can do here is not known; tried with %s: %s", path.data,
		error->message);
	findings_fix(findings, "heapwise check /bin/true");
	error_destroy(error);
}

/*
 * Whether this process may lock more than its limit: tried with memory that is never there, since
 * CAP_IPC_LOCK does not count in a user namespace of one's own (mlock_fixup() in the kernel's
 * mm/mlock.c). Returns the error number, 0 if it may; -1: can't be told.
 */
static int try_locking(rlim_t limit)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE), bytes = ((size_t)limit / page + 1) * page;
	void *memory =
		mmap(NULL, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (memory == MAP_FAILED)
		return -1;
	int why = mlock2(memory, bytes, MLOCK_ONFAULT) ? errno : 0;
	munmap(memory, bytes);
	return why;
}

static void look_at_locking(struct findings *findings)
{
	struct rlimit limit;
	if (getrlimit(RLIMIT_MEMLOCK, &limit))
		return;
	int why = limit.rlim_cur == RLIM_INFINITY ? 0 : try_locking(limit.rlim_cur);
	if (!why) {
		findings_add(findings, FINDING_OK, "check-locked",
			"programs under 'heapwise check' may lock all their memory (mlockall)");
		return;
	}
	findings_add(findings, FINDING_NOTE, "check-locked",
		"a program that calls mlockall() %s refused (ENOMEM) under 'heapwise check': the "
		"library's tables are part of its address space, and it may lock %llu KiB "
		"(RLIMIT_MEMLOCK)",
		why > 0 ? "is" : "may be", (unsigned long long)limit.rlim_cur >> 10);
	findings_fix(findings, "ulimit -l unlimited, or run it with CAP_IPC_LOCK");
}

static void look_at_engine(struct findings *findings)
{
	static const char *const fixes[] = {[CHECK_ENGINE_MISSING] = "apt install valgrind",
		[CHECK_ENGINE_NO_SYMBOLS] = "apt install libc6-dbg",
		[CHECK_ENGINE_FAILS] = "valgrind /bin/true"};
	_cleanup_(text_deinit) struct text why;
	text_init(&why);
	enum check_engine_state state;
	_cleanup_error_ struct error *error = check_engine_try(&state, &why);
	findings->failed |= why.failed;
	if (error) {
		findings_add(findings, FINDING_NOTE, "check-valgrind",
			"whether valgrind works is not known: %s", error->message);
		findings_fix(findings, "valgrind /bin/true");
	} else if (state == CHECK_ENGINE_WORKS) {
		findings_add(findings, FINDING_OK, "check-valgrind",
			"valgrind works, for 'heapwise check' with --engine=valgrind or "
			"--escalate");
	} else {
		findings_add(findings, FINDING_NOTE, "check-valgrind", "%s", why.data);
		findings_fix(findings, "%s", fixes[state]);
	}
}

void doctor_check_machine(struct findings *findings)
{
	_cleanup_free_ char *runtime = NULL;
	_cleanup_error_ struct error *error = runtime_find(&runtime);
	if (!error) { /* else that is found already */
		look_at_library(findings, runtime);
		look_at_locking(findings);
	}
	look_at_engine(findings);
}

void doctor_check_refused(struct findings *findings, const struct program *p, const char *name)
{
	_cleanup_(text_deinit) struct text text;
	text_init(&text);
	findings_add(findings, FINDING_NOTE, "check", "'heapwise check' can't run it either: %s",
		p->why);
	enum check_engine_reach reach = check_engine_reach(p, name, &text);
	if (reach == CHECK_ENGINE_REFUSES || p->sanitizer)
		findings_fix(findings, "%s", text.data ? text.data : "");
	else
		findings_fix(findings, "'heapwise check --engine=valgrind' runs it: %s",
			text.data ? text.data : "");
	findings->failed |= text.failed;
}

void doctor_check_own_heap(struct findings *findings, const struct program *p)
{
	findings_add(findings, FINDING_NOTE, "check",
		"'heapwise check' looks at none of the blocks of %s, which are its own "
		"allocator's",
		p->image);
	findings_fix(findings, "heapwise check --engine=valgrind: memcheck replaces a malloc "
			       "whose symbol is there");
}
