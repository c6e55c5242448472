/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>

#include "base/cleanup.h"
#include "base/path.h"
#include "base/text.h"
#include "cli/doctor/doctor.h"
#include "process/program.h"
#include "process/run_command.h"
#include "symbols/inspect.h"

/* Libraries that bring a malloc of their own; the runtime knows how C++ programs use the first
 * ones.
 */
static const struct allocator {
	const char *file, *name;
	bool exact;
} allocators[] = {
	{"/libjemalloc.so", "jemalloc", true},
	{"/libtcmalloc", "tcmalloc", true},
	{"/libmimalloc", "mimalloc", true},
	{"/libhoard.so", "Hoard", false},
	{"/libsnmalloc", "snmalloc", false},
	{"/libscudo", "Scudo", false},
	{"/librpmalloc", "rpmalloc", false},
};

static void look_at_allocator(struct findings *findings, const char *library)
{
	for (size_t i = 0; i < sizeof(allocators) / sizeof(allocators[0]); i++) {
		const struct allocator *a = &allocators[i];
		if (!strstr(library, a->file))
			continue;
		if (a->exact)
			findings_add(findings, FINDING_OK, "allocator",
				"it allocates with %s (%s), which still works, and is recorded "
				"exactly",
				a->name, library);
		else
			findings_add(findings, FINDING_NOTE, "allocator",
				"it allocates with %s (%s): calls through malloc's and C++'s names "
				"are recorded; this allocator is untested",
				a->name, library);
	}
}

static bool lacks_lines(const char *path)
{
	struct inspection inspection;
	bool known = inspection_make(path, &inspection);
	bool lines = inspection.own_lines || inspection.separate_lines;
	inspection_deinit(&inspection);
	return known && !lines;
}

static void judge_libraries(
	struct findings *findings, size_t all, size_t lacking, const char *names)
{
	const char *id = "library-debug-info";
	if (!lacking && all == 1)
		findings_add(findings, FINDING_OK, id, "its only library has debug information");
	else if (!lacking)
		findings_add(findings, FINDING_OK, id,
			"all its %zu libraries have debug information", all);
	else if (all == 1)
		findings_add(findings, FINDING_NOTE, id,
			"its only library has no debug information: %s", names);
	else
		findings_add(findings, FINDING_NOTE, id,
			"%zu of its %zu libraries have no debug information: %s", lacking, all,
			names);
	if (lacking)
		findings_fix(findings,
			"'heapwise doctor' with the path of a library says which package has it");
}

/* One finding for all of them: there may be dozens. */
static void look_at_libraries(struct findings *findings, const char *path)
{
	_cleanup_free_ char *list = linked_libraries_of(path);
	_cleanup_(text_deinit) struct text lacking;
	text_init(&lacking);
	size_t all = 0, count = 0;
	char *rest = list;
	for (char *library; rest && (library = strsep(&rest, "\n"));) {
		if (!*library)
			continue;
		all++;
		look_at_allocator(findings, library);
		if (lacks_lines(library))
			text_printf(&lacking, "%s%s", count++ ? ", " : "", path_last_part(library));
	}
	if (!list) {
		findings_add(findings, FINDING_NOTE, "libraries",
			"the dynamic linker can't list the libraries of %s", path);
		findings_fix(findings, "run 'ldd %s' to see which one is missing", path);
	} else if (all)
		judge_libraries(findings, all, count, lacking.data);
}

static bool is_noexec(const char *path)
{
	struct statvfs system;
	return !statvfs(path, &system) && system.f_flag & ST_NOEXEC;
}

/* Why it can't even be started. */
static void look_at_refusal(struct findings *findings, const struct program *p, const char *name)
{
	const char *path = p->image ? p->image : name;
	if (p->state == PROGRAM_CANNOT_RECORD) {
		findings_add(findings, FINDING_PROBLEM, "program", "%s can't be recorded: %s", path,
			p->why);
		findings_fix(findings, "%s", p->fix);
		doctor_check_refused(findings, p, name);
		return;
	}
	findings_add(findings, FINDING_PROBLEM, "program", "%s can't be started: %s", path, p->why);
	if (p->scripts && p->state == PROGRAM_NOT_FOUND)
		findings_fix(findings, "the first line of %s names its interpreter", p->path);
	else if (p->image && is_noexec(p->image))
		findings_fix(findings, "its file system is mounted noexec: copy it elsewhere");
	else if (p->image && strstr(p->why, "not executable"))
		findings_fix(findings, "chmod +x %s", path);
}

static void look_at_kind(struct findings *findings, const struct program *p)
{
	if (p->scripts)
		findings_add(findings, FINDING_OK, "program",
			"%s is a script; its interpreter %s can be recorded", p->path, p->image);
	else if (p->is_elf)
		findings_add(findings, FINDING_OK, "program", "%s can be recorded", p->path);
	else
		findings_add(findings, FINDING_NOTE, "program",
			"%s is neither a program nor a script with #!: /bin/sh runs it", p->path);
}

static void look_at_own_heap(struct findings *findings, const struct program *p)
{
	struct inspection inspection;
	bool known = inspection_make(p->image, &inspection);
	inspection_deinit(&inspection);
	if (p->own_malloc || (known && inspection.own_malloc) || program_has_own_malloc(p->image)) {
		findings_add(findings, FINDING_PROBLEM, "own-malloc",
			"%s defines its own malloc: its calls of it%s can't be recorded by "
			"'heapwise run'",
			p->image, p->own_malloc ? ", and those of its libraries," : "");
		findings_fix(findings, "start it alone, and 'heapwise attach PID' records them; or "
				       "link its allocator as a shared library, or without it");
		doctor_check_own_heap(findings, p);
	}
	if (known && inspection.go)
		findings_add(findings, FINDING_NOTE, "go",
			"%s is written in Go, which has a heap of its own: only its C parts can be "
			"seen",
			p->image);
}

/* A library may be asked about too, for its debug information. */
static bool doctor_program_is_library(const struct program *p)
{
	return p->path && strstr(path_last_part(p->path), ".so");
}

struct error *doctor_program(struct findings *findings, const char *name)
{
	_cleanup_(program_deinit) struct program p;
	struct error *error = program_examine(name, &p);
	if (error)
		return error;
	if (p.state == PROGRAM_NOT_FOUND && !p.scripts)
		return error_create(ERROR_INPUT, "%s: %s", name, p.why);
	if (doctor_program_is_library(&p)) {
		doctor_debug(findings, p.path, true);
		return NULL;
	}
	if (p.state == PROGRAM_OK)
		look_at_kind(findings, &p);
	else
		look_at_refusal(findings, &p, name);
	if (p.is_elf) {
		look_at_own_heap(findings, &p);
		doctor_debug(findings, p.image, true);
		look_at_libraries(findings, p.image);
	}
	return NULL;
}
