/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "process/cores/core_owner.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "process/proc_info.h"

/* struct elf_prpsinfo: places of its members. */
#define STATE 1u
#define ZOMBIE 2u
#define USER 16u
#define GROUP 20u
#define PIDS 24u /* its own, its parent's, its process group's and its session's */
#define NAME 40u
#define NAME_BYTES 16u
#define COMMAND 56u
#define COMMAND_BYTES 80u

#define PROC_BYTES_MAX (16u << 20)

static void trim_blanks(char *text)
{
	size_t len = strlen(text);
	while (len && text[len - 1] == ' ')
		text[--len] = 0;
}

bool core_owner_take(const uint8_t *note, size_t len, struct core_owner *ret)
{
	int32_t pids[4];
	if (len < COMMAND + COMMAND_BYTES)
		return false;
	*ret = (struct core_owner){.state = (char)note[STATE]};
	memcpy(&ret->uid, note + USER, 4);
	memcpy(&ret->gid, note + GROUP, 4);
	memcpy(pids, note + PIDS, sizeof(pids));
	ret->pid = pids[0];
	ret->parent = pids[1];
	ret->group = pids[2];
	ret->session = pids[3];
	memcpy(ret->name, note + NAME, NAME_BYTES);
	memcpy(ret->command, note + COMMAND, COMMAND_BYTES);
	trim_blanks(ret->command);
	return true;
}

void core_owner_put(const struct core_owner *owner, uint8_t ret[CORE_OWNER_BYTES])
{
	const int32_t pids[] = {owner->pid, owner->parent, owner->group, owner->session};
	memset(ret, 0, CORE_OWNER_BYTES);
	ret[STATE] = (uint8_t)owner->state;
	ret[ZOMBIE] = owner->state == 'Z';
	memcpy(ret + USER, &owner->uid, 4);
	memcpy(ret + GROUP, &owner->gid, 4);
	memcpy(ret + PIDS, pids, sizeof(pids));
	memcpy(ret + NAME, owner->name, NAME_BYTES);
	memcpy(ret + COMMAND, owner->command, COMMAND_BYTES);
}

/* NULL: it is not there. To be freed. */
static char *read_proc(pid_t pid, const char *what, size_t *ret_len)
{
	char *text;
	struct error *error = process_read(pid, what, PROC_BYTES_MAX, &text, ret_len);
	error_destroy(error);
	return error ? NULL : text;
}

/* proc_pid_stat(5): "PID (name) state parent group session …"; a name may hold anything. */
static void take_stat(char *stat, struct core_owner *ret)
{
	char *open = strchr(stat, '('), *shut = strrchr(stat, ')');
	if (!open || !shut || shut < open)
		return;
	*shut = 0;
	snprintf(ret->name, NAME_BYTES, "%s", open + 1);
	int parent, group, session;
	if (sscanf(shut + 1, " %c %d %d %d", &ret->state, &parent, &group, &session) == 4) {
		ret->parent = parent;
		ret->group = group;
		ret->session = session;
	}
}

/* As fs/binfmt_elf.c: fill_psinfo(). */
static void take_command(const char *arguments, size_t len, struct core_owner *ret)
{
	len = len < COMMAND_BYTES - 1 ? len : COMMAND_BYTES - 1;
	memcpy(ret->command, arguments, len);
	ret->command[len] = 0;
	for (size_t i = 0; i < len; i++) {
		if (!ret->command[i])
			ret->command[i] = ' ';
	}
	trim_blanks(ret->command);
}

void core_owner_of_process(pid_t pid, struct core_owner *ret)
{
	char path[64];
	struct stat status;
	size_t len;
	*ret = (struct core_owner){.pid = pid};
	_cleanup_free_ char *stat_line = read_proc(pid, "stat", &len);
	if (stat_line)
		take_stat(stat_line, ret);
	_cleanup_free_ char *arguments = read_proc(pid, "cmdline", &len);
	if (arguments)
		take_command(arguments, len, ret);
	snprintf(path, sizeof(path), "/proc/%d", (int)pid);
	if (!stat(path, &status)) {
		ret->uid = status.st_uid;
		ret->gid = status.st_gid;
	}
}
