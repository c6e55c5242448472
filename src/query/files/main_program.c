/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "query/main_program.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/text.h"
#include "model/model.h"
#include "query/recordings.h"
#include "sources/source.h"

#define SUFFIX ".hpw"

void main_program_deinit(struct main_program *program)
{
	free(program->path);
	free(program->command);
}

/* The length without ".123" at the end; the same: there is none. */
static size_t without_number(const char *name, size_t len)
{
	size_t at = len;
	while (at && name[at - 1] >= '0' && name[at - 1] <= '9')
		at--;
	return at < len && at > 1 && name[at - 1] == '.' ? at - 1 : len;
}

/* The length of a recording's name without its suffix; 0: it is none. */
static size_t length_of(const char *name)
{
	size_t len = strlen(name), suffix = strlen(SUFFIX);
	return len > suffix && strcmp(name + len - suffix, SUFFIX) == 0 ? len - suffix : 0;
}

static char *command_text(const struct target *target)
{
	struct text text;
	text_init(&text);
	for (size_t i = 0; i < target->command_len && i < 4; i++) {
		text_add(&text, i ? " " : "");
		text_add_shown(&text, target->command[i], 40);
	}
	text_add(&text, target->command_len > 4 ? " …" : "");
	return text_steal(&text);
}

struct search {
	const char *folder, *name; /* the recording that was asked for */
	size_t stem;               /* so much of the name is that of the run's first recording */
	uint64_t began_ns;         /* the run */
	uint64_t start_ns;         /* of the best one */
	struct main_program *ret;
};

/* Whether a recording is what its name says, and not of an earlier run of the same name. */
static bool is_part_of_run(
	const struct search *search, const char *name, const struct target *target)
{
	unsigned long pid = strtoul(name + search->stem + 1, NULL, 10);
	return (pid == target->outer_pid || pid == target->pid) &&
	       target->wall_start_ns >= search->began_ns;
}

/* Takes a recording if it is better than the best one so far. */
static struct error *main_program_weigh(struct search *search, const char *name)
{
	_cleanup_free_ char *path = NULL;
	_cleanup_(model_cleanup) struct model *model = NULL;
	if (asprintf(&path, "%s%s", search->folder, name) < 0) {
		path = NULL;
		return error_no_memory();
	}
	struct error *error = source_open(path, &model);
	if (error) {
		error_destroy(error);
		return NULL;
	}
	bool first = length_of(name) == search->stem;
	if (first)
		search->began_ns = model_target(model)->wall_start_ns;
	else if (!is_part_of_run(search, name, model_target(model)))
		return NULL;
	struct main_program *best = search->ret;
	uint64_t peak = model_totals(model)->peak_bytes;
	uint64_t start = model_target(model)->wall_start_ns;
	best->count++;
	if (best->path &&
		(peak < best->peak_bytes || (peak == best->peak_bytes && start < search->start_ns)))
		return NULL;
	main_program_deinit(best);
	best->peak_bytes = peak;
	search->start_ns = start;
	best->path = steal_ptr(path);
	best->command = command_text(model_target(model));
	return best->command ? NULL : error_no_memory();
}

/* "x.12.hpw" and "x.12.1.hpw" where the first one is "x.hpw". */
static bool is_named_so(const struct search *search, const char *name)
{
	size_t len = length_of(name), once = without_number(name, len);
	return strncmp(name, search->name, search->stem) == 0 && once < len &&
	       (once == search->stem || (without_number(name, once) == search->stem));
}

static bool main_program_exists(const char *folder, const char *name, size_t len)
{
	_cleanup_free_ char *path = NULL;
	if (asprintf(&path, "%s%.*s" SUFFIX, folder, (int)len, name) < 0)
		path = NULL;
	return path && access(path, R_OK) == 0;
}

/* The first recording of the run: its name is that of others without their numbers. */
static size_t find_stem(const struct search *search)
{
	size_t len = length_of(search->name), once = without_number(search->name, len);
	size_t twice = without_number(search->name, once);
	if (twice < once && main_program_exists(search->folder, search->name, twice))
		return twice;
	return once < len && main_program_exists(search->folder, search->name, once) ? once : len;
}

struct error *main_program_newest(struct query_context *context, const char *others, char **ret)
{
	_cleanup_free_ char *newest = NULL;
	struct error *error = recording_newest(&newest);
	if (error)
		return error;
	_cleanup_(main_program_deinit) struct main_program program = {.path = NULL};
	error = main_program_find(newest, &program);
	if (error)
		return error;
	if (program.count > 1 && others)
		query_note(context,
			"reading %s (%s), the one with the largest peak of %zu recordings of the "
			"newest run here; %s",
			program.path, program.command, program.count, others);
	else if (program.count > 1)
		query_note(context,
			"reading %s, the one with the largest peak of %zu recordings of the newest "
			"run here",
			program.path, program.count);
	else
		query_note(context, "reading %s, the newest recording here", newest);
	*ret = steal_ptr(program.path);
	return NULL;
}

bool main_program_is_first(const char *path)
{
	const char *slash = strrchr(path, '/');
	const char *name = slash ? slash + 1 : path;
	_cleanup_free_ char *folder = strndup(path, (size_t)(name - path));
	if (!folder)
		return true;
	const struct search search = {.folder = folder, .name = name};
	return find_stem(&search) == length_of(name);
}

struct error *main_program_find(const char *path, struct main_program *ret)
{
	*ret = (struct main_program){.path = NULL};
	const char *slash = strrchr(path, '/');
	_cleanup_free_ char *folder = strndup(path, slash ? (size_t)(slash - path) + 1 : 0);
	if (!folder)
		return error_no_memory();
	struct search search = {.folder = folder, .name = slash ? slash + 1 : path, .ret = ret};
	search.stem = find_stem(&search);
	_cleanup_free_ char *base = NULL;
	if (!search.stem || asprintf(&base, "%.*s" SUFFIX, (int)search.stem, search.name) < 0)
		base = NULL;
	struct dirent **entries = NULL;
	int count = scandir(*folder ? folder : ".", &entries, NULL, alphasort);
	if (count < 0)
		return error_errno(ERROR_INPUT, errno, "can't list the directory of %s", path);
	/* A recording that is alone is not read to be compared with itself. */
	size_t others = 0;
	for (int i = 0; i < count; i++)
		others += search.stem && is_named_so(&search, entries[i]->d_name);
	struct error *error = base && others ? main_program_weigh(&search, base) : NULL;
	for (int i = 0; i < count; i++) {
		if (!error && search.stem && is_named_so(&search, entries[i]->d_name))
			error = main_program_weigh(&search, entries[i]->d_name);
		free(entries[i]);
	}
	free(entries);
	if (!error && !ret->path)
		ret->path = strdup(path);
	return !error && !ret->path ? error_no_memory() : error;
}
