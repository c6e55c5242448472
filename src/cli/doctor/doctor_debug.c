/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "cli/doctor/doctor.h"
#include "process/run_command.h"
#include "symbols/inspect.h"

/* Packages whose debug information is not in the package of that name with -dbgsym behind it. */
static const struct other_package {
	const char *package, *debug;
} other_packages[] = {
	{"libc6", "libc6-dbg"},
	{"perl", "perl-debug"},
	{"perl-base", "perl-debug"},
	{"libperl5.36", "perl-debug"},
	{"python3.11-minimal", "python3.11-dbg"},
	{"libpython3.11", "python3.11-dbg"},
};

static void fix_by_package(struct findings *findings, const char *package)
{
	for (size_t i = 0; i < sizeof(other_packages) / sizeof(other_packages[0]); i++) {
		if (!strcmp(package, other_packages[i].package)) {
			findings_fix(findings, "apt install %s", other_packages[i].debug);
			return;
		}
	}
	findings_fix(findings,
		"apt install %s-dbgsym (from Debian's archive of debug packages: "
		"https://wiki.debian.org/HowToGetABacktrace)",
		package);
}

static void fix_missing(
	struct findings *findings, const char *path, const struct inspection *inspection)
{
	_cleanup_free_ char *package = debian_package_of(path);
	if (package)
		fix_by_package(findings, package);
	else if (inspection->link && inspection->build_id[0])
		findings_fix(findings,
			"its debug information was split off into %s: put that file next to it, or "
			"at /usr/lib/debug/.build-id/%.2s/%s.debug",
			inspection->link, inspection->build_id, inspection->build_id + 2);
	else
		findings_fix(findings, "compile it with -g, and install it without stripping it");
}

static const char *names_without(const struct inspection *inspection)
{
	if (inspection->symbol_table || inspection->mini)
		return "functions have names, but no files and lines";
	return inspection->dynamic_symbols ? "only exported functions have names"
					   : "its functions have no names";
}

static void look_at_names(
	struct findings *findings, const char *path, bool main, const struct inspection *inspection)
{
	enum finding_level lack = main ? FINDING_PROBLEM : FINDING_NOTE;
	if (inspection->own_lines || inspection->separate_lines) {
		findings_add(findings, FINDING_OK, "debug-info",
			"%s: names, files and lines, from %s", path,
			inspection->separate_lines ? inspection->separate
						   : "its own debug information");
	} else if (inspection->zstd_unreadable) {
		findings_add(findings, lack, "debug-info-zstd",
			"%s: its debug information is compressed with zstd, which the elfutils "
			"here can't read",
			path);
		findings_fix(findings, "objcopy --decompress-debug-sections %s",
			inspection->separate ? inspection->separate : path);
	} else {
		findings_add(findings, lack, "debug-info", "%s has no debug information: %s", path,
			names_without(inspection));
		fix_missing(findings, path, inspection);
	}
	if (inspection->alt_missing) {
		findings_add(findings, lack, "debug-info-shared",
			"%s: its debug information refers to a shared file (dwz) that is missing",
			path);
		findings_fix(findings, "install the whole debug package again");
	}
}

void doctor_debug(struct findings *findings, const char *path, bool main)
{
	_cleanup_(inspection_deinit) struct inspection inspection;
	if (!inspection_make(path, &inspection)) {
		findings_add(findings, FINDING_NOTE, "debug-info",
			"%s can't be read, so its names and lines are unknown", path);
		return;
	}
	look_at_names(findings, path, main, &inspection);
	if (inspection.unwind)
		return;
	findings_add(findings, FINDING_NOTE, "unwind-info",
		"%s has no unwind information: stacks through it are guessed from frame pointers, "
		"and marked",
		path);
	findings_fix(findings, "compile it with -fasynchronous-unwind-tables");
}
