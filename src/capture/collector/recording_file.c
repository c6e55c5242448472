/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "capture/recording_file.h"

#include "base/cleanup.h"
#include "base/text.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define PATTERN "heapwise.%n.%p.hpw"

struct error *recording_pattern_check(const char *pattern)
{
	if (pattern && !*pattern)
		return error_create(ERROR_USAGE, "-o: missing file name");
	for (const char *p = pattern ? strchr(pattern, '%') : NULL; p; p = strchr(p + 2, '%')) {
		if (!p[1] || !strchr("nph%", p[1]))
			return error_create(ERROR_USAGE,
				"-o %s: unknown %%%c; expected %%n (program), %%p (PID), %%h "
				"(host) or %%%%",
				pattern, p[1] ? p[1] : ' ');
	}
	return NULL;
}

static void expand_pattern_letter(struct text *t, char letter, const struct recording_name *from)
{
	const char *name = strrchr(from->program, '/');
	char host[256] = "localhost";
	switch (letter) {
	case 'p':
		text_printf(t, "%d", (int)from->pid);
		break;
	case 'n':
		text_add(t, name ? name + 1 : from->program);
		break;
	case 'h':
		gethostname(host, sizeof(host) - 1);
		text_add(t, host);
		break;
	default:
		text_add_char(t, letter);
	}
}

struct error *recording_name_make(const struct recording_name *from, char **ret)
{
	const char *pattern = from->pattern ? from->pattern : PATTERN;
	struct error *error = recording_pattern_check(pattern);
	if (error)
		return error;
	_cleanup_(text_deinit) struct text t;
	text_init(&t);
	if (*pattern != '/') {
		_cleanup_free_ char *folder = getcwd(NULL, 0);
		if (!folder)
			return error_errno(
				ERROR_ENVIRONMENT, errno, "can't get the current directory");
		text_printf(&t, "%s/", strcmp(folder, "/") ? folder : "");
	}
	for (const char *p = pattern; *p; p++) {
		if (*p == '%')
			expand_pattern_letter(&t, *++p, from);
		else
			text_add_char(&t, *p);
	}
	*ret = text_steal(&t);
	return *ret ? NULL : error_no_memory();
}

static struct error *open_replacement(struct recording_file *file)
{
	int folder = (int)(strrchr(file->name, '/') - file->name);
	if (asprintf(&file->now, "%.*s/.heapwise-XXXXXX", folder, file->name) < 0) {
		file->now = NULL;
		return error_no_memory();
	}
	file->fd = mkostemp(file->now, O_CLOEXEC);
	return file->fd < 0 ? error_errno(ERROR_ENVIRONMENT, errno, "can't replace %s", file->name)
			    : NULL;
}

static struct error *open_new(struct recording_file *file, bool overwrite)
{
	struct stat st;
	bool exists = !lstat(file->name, &st);
	if (exists && !S_ISREG(st.st_mode))
		return error_create(ERROR_ENVIRONMENT,
			"%s is not a regular file and can't be a recording; choose another name "
			"with -o FILE",
			file->name);
	if (exists && overwrite)
		return open_replacement(file);
	file->now = strdup(file->name);
	if (!file->now)
		return error_no_memory();
	file->fd = open(file->name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (file->fd < 0 && errno == EEXIST)
		return error_create(ERROR_ENVIRONMENT,
			"%s already exists; use -f to replace it, or -o FILE for another name",
			file->name);
	if (file->fd < 0)
		return error_create(ERROR_ENVIRONMENT,
			"can't create %s: %s; choose another place with -o FILE", file->name,
			strerror(errno));
	return NULL;
}

struct error *recording_file_open(const struct recording_name *name, struct recording_file *ret)
{
	struct recording_file file = {.fd = -1};
	struct error *error = recording_name_make(name, &file.name);
	if (!error)
		error = open_new(&file, name->overwrite);
	if (error)
		recording_file_deinit(&file);
	else
		*ret = file;
	return error;
}

void recording_file_deinit(struct recording_file *file)
{
	free(file->name);
	free(file->now);
	*file = (struct recording_file){.fd = -1};
}

void recording_file_discard(struct recording_file *file)
{
	if (file->fd >= 0) {
		close(file->fd);
		unlink(file->now);
	}
	recording_file_deinit(file);
}
