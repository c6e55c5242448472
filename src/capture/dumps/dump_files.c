/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "capture/dumps/dump_files.h"

#include "base/text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define LETTERS "nphisrcf%"

static const char reason_letters[DUMP_REASONS] = {
	[DUMP_ASKED] = 'm',
	[DUMP_ALLOCATED] = 'i',
	[DUMP_FREED] = 'i',
	[DUMP_GROWTH] = 'u',
	[DUMP_PEAK] = 'u',
	[DUMP_PAGES] = 'u',
	[DUMP_TIME] = 't',
	[DUMP_RESIDENT] = 'r',
	[DUMP_PRESSURE] = 'p',
	[DUMP_SIGNAL] = 's',
	[DUMP_EXIT] = 'f',
};

void dump_files_init(struct dump_files *files)
{
	*files = (struct dump_files){.count = 0};
	dump_file_vec_init(&files->written);
}

void dump_files_deinit(struct dump_files *files)
{
	for (size_t i = 0; i < files->written.len; i++)
		free(files->written.data[i].name);
	dump_file_vec_deinit(&files->written);
}

const char *dump_files_problem(const char *pattern)
{
	bool differs = false;
	if (!*pattern)
		return "expected a file name";
	for (const char *p = pattern; *p; p++) {
		if (*p != '%')
			continue;
		if (!*++p || !strchr(LETTERS, *p))
			return "unknown letter after %: expected %i or %s (number), %p (PID), %n "
			       "(program), %h (host), %r (letter of the reason), %c (number for "
			       "that reason), %f (_PID in forked children) or %%";
		differs |= *p == 'i' || *p == 's' || *p == 'c';
	}
	return differs ? NULL : "expected %i, the dump's number, in it";
}

bool dump_files_name_process(const char *pattern)
{
	for (const char *p = pattern; *p; p++) {
		if (*p == '%' && *++p == 'p')
			return true;
		if (!*p)
			break;
	}
	return false;
}

static void add_letter(struct text *t, char letter, const struct dump_files *files,
	const struct dump_naming *naming, enum dump_reason reason)
{
	char host[256] = "";
	if (letter == 'n') {
		text_add(t, naming->program);
	} else if (letter == 'p') {
		text_printf(t, "%d", (int)naming->pid);
	} else if (letter == 'h') {
		gethostname(host, sizeof(host) - 1);
		text_add(t, host);
	} else if (letter == 'f' && naming->inherited) {
		text_printf(t, "_%d", (int)naming->pid);
	} else if (letter == 'i') {
		text_printf(t, "%04u", files->count + 1);
	} else if (letter == 's') {
		text_printf(t, "%u", files->count);
	} else if (letter == 'r') {
		text_add_char(t, reason_letters[reason]);
	} else if (letter == 'c' && reason != DUMP_EXIT) {
		text_printf(t, "%u", files->counts[reason]);
	} else if (letter == '%') {
		text_add_char(t, '%');
	}
}

/* NAME.hpw becomes NAME.0001.dump. */
static void add_beside(struct text *t, const struct dump_files *files, const char *recording)
{
	size_t stem = strlen(recording);
	if (stem > 4 && !strcmp(recording + stem - 4, ".hpw"))
		stem -= 4;
	text_printf(t, "%.*s.%04u.dump", (int)stem, recording, files->count + 1);
}

char *dump_files_next(
	struct dump_files *files, const struct dump_naming *naming, enum dump_reason reason)
{
	struct text t;
	text_init(&t);
	const char *pattern = naming->plan->files;
	if (pattern && *pattern != '/')
		text_printf(&t, "%s/", naming->folder);
	for (const char *p = pattern; p && *p; p++) {
		if (*p == '%')
			add_letter(&t, *++p, files, naming, reason);
		else
			text_add_char(&t, *p);
	}
	if (!pattern)
		add_beside(&t, files, naming->recording);
	files->count++;
	files->counts[reason]++;
	return text_steal(&t);
}

static void remove_at(struct dump_file_vec *files, size_t i)
{
	free(files->data[i].name);
	memmove(&files->data[i], &files->data[i + 1], (files->len - i - 1) * sizeof(*files->data));
	files->len--;
}

void dump_files_note(struct dump_files *files, struct dump_file file, uint32_t keep)
{
	struct dump_file_vec *written = &files->written;
	for (size_t i = 0; i < written->len; i++) {
		if (!strcmp(written->data[i].name, file.name)) {
			remove_at(written, i);
			break;
		}
	}
	if (!keep || !dump_file_vec_push(written, file)) {
		free(file.name);
		return;
	}
	for (size_t i = written->len - 1; i && written->data[i - 1].order > file.order; i--) {
		written->data[i] = written->data[i - 1];
		written->data[i - 1] = file;
	}
	while (written->len > keep) {
		dump_owner_unlink(&written->data[0].owner, written->data[0].name);
		remove_at(written, 0);
	}
}
