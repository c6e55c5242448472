/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "process/proc_text.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define PROC_TEXT_MOST ((size_t)1 << 30)
#define PROC_TEXT_PIECE ((size_t)256 << 10)

static struct error *open_error(pid_t pid, const char *path, int number)
{
	if (number == ENOENT || number == ESRCH)
		return error_create(ERROR_INPUT, "there is no process %d", (int)pid);
	if (number == EACCES || number == EPERM)
		return error_create(ERROR_ENVIRONMENT,
			"can't read the memory of process %d (%s): it belongs to another user, or "
			"may "
			"not be looked at; run as root, or with CAP_SYS_PTRACE (sudo setcap "
			"cap_sys_ptrace+ep on a copy of heapwise)",
			(int)pid, path);
	return error_errno(ERROR_ENVIRONMENT, number, "can't read process %d (%s)", (int)pid, path);
}

struct error *proc_text_open(pid_t pid, const char *name, struct proc_text *ret)
{
	char path[64];
	snprintf(path, sizeof(path), "/proc/%d/%s", (int)pid, name);
	*ret = (struct proc_text){
		.pid = pid, .name = name, .file = open(path, O_RDONLY | O_CLOEXEC)};
	return ret->file < 0 ? open_error(pid, path, errno) : NULL;
}

void proc_text_close(struct proc_text *text)
{
	if (text->file >= 0)
		close(text->file);
	free(text->data);
	*text = (struct proc_text){.file = -1};
}

static bool text_grow(struct proc_text *text)
{
	size_t room = text->room * 2 + PROC_TEXT_PIECE;
	char *data = realloc(text->data, room);
	if (!data)
		return false;
	text->data = data;
	text->room = room;
	return true;
}

struct error *proc_text_read(struct proc_text *text)
{
	text->len = 0;
	if (lseek(text->file, 0, SEEK_SET) < 0)
		return error_errno(ERROR_ENVIRONMENT, errno, "can't read /proc/%d/%s again",
			(int)text->pid, text->name);
	for (;;) {
		if (text->room - text->len < PROC_TEXT_PIECE / 2 && !text_grow(text))
			return error_no_memory();
		ssize_t n = read(text->file, text->data + text->len, text->room - text->len - 1);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && errno != ESRCH)
			return open_error(text->pid, text->name, errno);
		if (n <= 0)
			break;
		text->len += (size_t)n;
		if (text->len > PROC_TEXT_MOST)
			return error_create(ERROR_INPUT, "/proc/%d/%s is longer than 1 GiB",
				(int)text->pid, text->name);
	}
	text->data[text->len] = 0;
	return NULL;
}
