/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which JVMs run, and what jps calls them. */
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/number.h"
#include "base/util.h"
#include "base/vec.h"
#include "process/java_attach.h"
#include "process/proc_info.h"

#define MAPS_MAX (64u << 20)
#define CMDLINE_MAX (4u << 20)

DEFINE_VEC(java_processes, struct java_process)

/* Options of `java` whose value is the next argument (java(1)). */
static bool takes_next(const char *word)
{
	static const char *const options[] = {"-cp", "-classpath", "--class-path", "-p",
		"--module-path", "--upgrade-module-path", "--add-modules", "--add-reads",
		"--add-exports", "--add-opens", "--limit-modules", "--patch-module", "--source",
		"--enable-native-access", "-d", "--describe-module"};
	for (size_t i = 0; i < ARRAY_SIZE(options); i++)
		if (!strcmp(word, options[i]))
			return true;
	return false;
}

/* The words of a command line, each ended by a NUL; NULL after the last one. */
static const char *word_next(const char *word, const char *end)
{
	const char *nul = word < end ? memchr(word, 0, (size_t)(end - word)) : NULL;
	return nul && nul + 1 < end ? nul + 1 : NULL;
}

static const char *path_last(const char *path)
{
	const char *slash = strrchr(path, '/');
	return slash ? slash + 1 : path;
}

/* What is not ended by a NUL is cut off: it is no whole word. */
static size_t whole_words(const char *cmdline, size_t len)
{
	while (len && cmdline[len - 1])
		len--;
	return len;
}

static bool names_next(const char *word)
{
	return !strcmp(word, "-jar") || !strcmp(word, "-m") || !strcmp(word, "--module");
}

const char *java_main_word(const char *cmdline, size_t len)
{
	len = whole_words(cmdline, len);
	const char *end = cmdline + len;
	const char *word = len ? word_next(cmdline, end) : NULL;
	for (; word; word = word_next(word, end)) {
		if (names_next(word) || (*word != '-' && *word != '@'))
			return word;
		if (takes_next(word))
			word = word_next(word, end);
		if (!word)
			return NULL;
	}
	return NULL;
}

size_t java_options_count(const char *cmdline, size_t len)
{
	len = whole_words(cmdline, len);
	const char *end = cmdline + len;
	const char *word = len ? word_next(cmdline, end) : NULL;
	size_t count = 1;
	for (; word && *word == '-' && !names_next(word); word = word_next(word, end)) {
		bool is_pair = takes_next(word);
		if (is_pair)
			word = word_next(word, end);
		if (!word || (is_pair && *word == '@'))
			break;
		count += is_pair ? 2 : 1;
	}
	return count;
}

char *java_main_name(const char *cmdline, size_t len)
{
	const char *word = java_main_word(cmdline, len);
	if (!word || !names_next(word))
		return word ? strdup(word) : NULL;
	const char *name = word_next(word, cmdline + whole_words(cmdline, len));
	if (!name)
		return NULL;
	return strdup(!strcmp(word, "-jar") ? path_last(name) : name);
}

/* Whether the process has libjvm.so; what can't be read is none. */
static bool is_jvm(pid_t pid)
{
	_cleanup_free_ char *maps = NULL;
	size_t len;
	struct error *error = process_read(pid, "maps", MAPS_MAX, &maps, &len);
	bool is_it = !error && strstr(maps, "/libjvm.so");
	error_destroy(error);
	return is_it;
}

static struct error *processes_add(struct java_processes *list, pid_t pid)
{
	_cleanup_free_ char *cmdline = NULL;
	size_t len;
	struct error *error = process_read(pid, "cmdline", CMDLINE_MAX, &cmdline, &len);
	struct java_process row = {pid, error ? NULL : java_main_name(cmdline, len)};
	error_destroy(error);
	if (!row.name)
		row.name = strdup("(no main class)");
	if (row.name && java_processes_push(list, row))
		return NULL;
	free(row.name);
	return error_no_memory();
}

static int process_compare(const void *left, const void *right)
{
	const struct java_process *a = left, *b = right;
	return a->pid < b->pid ? -1 : a->pid > b->pid;
}

struct error *java_list(struct java_process **ret, size_t *ret_count)
{
	struct java_processes list = {.data = NULL};
	struct error *error = NULL;
	DIR *proc = opendir("/proc");
	if (!proc)
		return error_errno(ERROR_ENVIRONMENT, errno, "can't read /proc");
	for (const struct dirent *entry; !error && (entry = readdir(proc));) {
		uint64_t pid;
		if (number_whole(entry->d_name, &pid) && pid <= INT32_MAX && is_jvm((pid_t)pid))
			error = processes_add(&list, (pid_t)pid);
	}
	closedir(proc);
	if (error) {
		java_list_free(list.data, list.len);
		return error;
	}
	if (list.len)
		qsort(list.data, list.len, sizeof(*list.data), process_compare);
	*ret = list.data;
	*ret_count = list.len;
	return NULL;
}

void java_list_free(struct java_process *list, size_t count)
{
	for (size_t i = 0; i < count; i++)
		free(list[i].name);
	free(list);
}
