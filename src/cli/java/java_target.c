/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/java/java_target.h"

#include <limits.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/number.h"
#include "process/java_attach.h"

#define LISTED_MOST 12u

/* "app/com.example.Main" and "com.example.Main" are Main, too, and "shop.jar" is shop. */
static bool name_fits(const char *name, const char *word)
{
	size_t len = strlen(word), name_len = strlen(name);
	if (!strcmp(name, word))
		return true;
	if (name_len == len + 4 && !strncmp(name, word, len) && !strcmp(name + len, ".jar"))
		return true;
	if (name_len <= len || strcmp(name + name_len - len, word) != 0)
		return false;
	char before = name[name_len - len - 1];
	return before == '.' || before == '/';
}

static void target_add(struct text *out, const struct java_process *process)
{
	text_printf(out, "%d ", (int)process->pid);
	text_add_shown(out, process->name, 100);
}

static struct error *target_error(const struct java_process *list, size_t count, const char *word,
	bool is_any, size_t fitting)
{
	_cleanup_(text_deinit) struct text names;
	size_t listed = 0;
	text_init(&names);
	for (size_t i = 0; i < count && listed < LISTED_MOST; i++) {
		if (fitting && !is_any && !name_fits(list[i].name, word))
			continue;
		text_add(&names, listed++ ? ", " : "");
		target_add(&names, &list[i]);
	}
	if ((fitting ? fitting : count) > listed)
		text_add(&names, ", …");
	if (names.failed)
		return error_no_memory();
	if (!count)
		return error_create(ERROR_INPUT,
			"no JVM runs that this user can see (those of other users: as root)");
	return error_create(ERROR_INPUT, "%zu JVMs are called '%s', expected one: %s%s", fitting,
		word, fitting ? "" : "those that run are ", names.data);
}

struct error *java_target_find(const char *word, pid_t *ret)
{
	struct java_process *list = NULL;
	size_t count = 0, fitting = 0, found = 0;
	uint64_t pid;
	if (number_whole(word, &pid) && pid <= INT_MAX) {
		*ret = (pid_t)pid;
		return NULL;
	}
	struct error *error = java_list(&list, &count);
	if (error)
		return error;
	bool is_any = !strcmp(word, "jps");
	for (size_t i = 0; i < count; i++) {
		if (!is_any && !name_fits(list[i].name, word))
			continue;
		found = i;
		fitting++;
	}
	if (fitting == 1)
		*ret = list[found].pid;
	else
		error = target_error(list, count, word, is_any, fitting);
	java_list_free(list, count);
	return error;
}

struct error *java_targets_add(struct text *out)
{
	struct java_process *list = NULL;
	size_t count = 0;
	struct error *error = java_list(&list, &count);
	for (size_t i = 0; i < count; i++) {
		text_add(out, "  ");
		target_add(out, &list[i]);
		text_add(out, "\n");
	}
	if (!error && !count)
		text_add(out, "  none that this user can see\n");
	java_list_free(list, count);
	return error;
}
