/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * All system calls of an attached process that are not its own, in a table. Addresses and
 * descriptors are examples, since filters can't know what is at an address; flags, protections and
 * sizes are those of inject.c, remove.c, src/runtime/attach and src/runtime/core.
 */
#include "capture/attach/filters.h"

#include <dirent.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>

#include "base/cleanup.h"
#include "base/util.h"
#include "format/shm.h"

#define EXAMPLE 0x7f0000000000ull /* an address */
#define DESCRIPTOR 30
#define BYTES (256u << 10)
#define ALL_SIGNALS_HOW (~0ull) /* rt_sigprocmask as sys_readable() asks */

enum who { BY_TOOL, BY_HOOK };

static const struct call {
	enum who who;
	uint64_t number;
	const char *name;
	uint64_t arguments[6];
} calls[] = {
	{BY_TOOL, SYS_mmap, "mmap of memory",
		{0, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, (uint64_t)-1, 0}},
	{BY_TOOL, SYS_socketpair, "socketpair",
		{AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, EXAMPLE}},
	{BY_TOOL, SYS_recvmsg, "recvmsg", {DESCRIPTOR, EXAMPLE, MSG_CMSG_CLOEXEC | MSG_DONTWAIT}},
	{BY_TOOL, SYS_close, "close", {DESCRIPTOR}},
	{BY_TOOL, SYS_mmap, "mmap of code",
		{0, BYTES, PROT_READ | PROT_EXEC, MAP_PRIVATE, DESCRIPTOR, 0}},
	{BY_TOOL, SYS_mmap, "mmap of data",
		{EXAMPLE, BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_FIXED, DESCRIPTOR,
			4096}},
	{BY_TOOL, SYS_mmap, "mmap of private memory",
		{0, BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE,
			(uint64_t)-1, 0}},
	{BY_TOOL, SYS_mmap, "mmap of shared memory",
		{0, HW_SHM_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, DESCRIPTOR,
			0}},
	{BY_TOOL, SYS_madvise, "madvise (MADV_WIPEONFORK)", {EXAMPLE, BYTES, MADV_WIPEONFORK}},
	{BY_TOOL, SYS_madvise, "madvise (MADV_DONTFORK)", {EXAMPLE, HW_SHM_BYTES, MADV_DONTFORK}},
	{BY_TOOL, SYS_madvise, "madvise (MADV_DONTDUMP)", {EXAMPLE, BYTES, MADV_DONTDUMP}},
	{BY_TOOL, SYS_madvise, "madvise (MADV_NOHUGEPAGE)", {EXAMPLE, BYTES, MADV_NOHUGEPAGE}},
	{BY_TOOL, SYS_madvise, "madvise (MADV_DONTNEED)", {EXAMPLE, BYTES, MADV_DONTNEED}},
	{BY_TOOL, SYS_munmap, "munmap", {EXAMPLE, BYTES}},
	/* If the tool is killed. */
	{BY_TOOL, SYS_rt_sigprocmask, "rt_sigprocmask", {SIG_SETMASK, EXAMPLE, 0, 8}},
	{BY_HOOK, SYS_rt_sigprocmask, "rt_sigprocmask", {SIG_BLOCK, EXAMPLE, EXAMPLE, 8}},
	{BY_HOOK, SYS_rt_sigprocmask, "rt_sigprocmask", {SIG_SETMASK, EXAMPLE, 0, 8}},
	{BY_HOOK, SYS_rt_sigprocmask, "rt_sigprocmask", {ALL_SIGNALS_HOW, EXAMPLE, 0, 8}},
	{BY_HOOK, SYS_mmap, "mmap of private memory",
		{0, BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE,
			(uint64_t)-1, 0}},
	{BY_HOOK, SYS_mmap, "mmap at a place (MAP_FIXED)",
		{EXAMPLE, HW_SHM_BYTES, PROT_READ | PROT_WRITE,
			MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, (uint64_t)-1, 0}},
	{BY_HOOK, SYS_madvise, "madvise (MADV_NOHUGEPAGE)", {EXAMPLE, BYTES, MADV_NOHUGEPAGE}},
	{BY_HOOK, SYS_madvise, "madvise (MADV_DONTDUMP)", {EXAMPLE, BYTES, MADV_DONTDUMP}},
	{BY_HOOK, SYS_madvise, "madvise (MADV_WIPEONFORK)", {EXAMPLE, BYTES, MADV_WIPEONFORK}},
	{BY_HOOK, SYS_madvise, "madvise (MADV_KEEPONFORK)", {EXAMPLE, BYTES, MADV_KEEPONFORK}},
	{BY_HOOK, SYS_munmap, "munmap", {EXAMPLE, BYTES}},
	{BY_HOOK, SYS_futex, "futex", {EXAMPLE, FUTEX_WAIT, 0, EXAMPLE}},
	{BY_HOOK, SYS_clock_gettime, "clock_gettime", {1, EXAMPLE}},
	{BY_HOOK, SYS_sched_yield, "sched_yield", {0}},
	{BY_HOOK, SYS_gettid, "gettid", {0}},
	{BY_HOOK, SYS_prctl, "prctl (PR_GET_NAME)", {PR_GET_NAME, EXAMPLE}},
	{BY_HOOK, SYS_getcwd, "getcwd", {EXAMPLE, 4096}},
	{BY_HOOK, SYS_readlink, "readlink", {EXAMPLE, EXAMPLE, 4096}},
};

/* The mode of a thread as /proc has it; -1: not known. */
static int mode_of(pid_t pid, const char *tid)
{
	char path[64], line[256];
	int mode = -1;
	snprintf(path, sizeof(path), "/proc/%d/task/%.16s/status", (int)pid, tid);
	_cleanup_fclose_ FILE *file = fopen(path, "re");
	if (!file)
		return 0; /* it has ended */
	while (mode < 0 && fgets(line, sizeof(line), file))
		(void)!sscanf(line, "Seccomp: %d", &mode);
	return mode < 0 ? 0 : mode; /* a kernel without it */
}

int attach_is_filtered(pid_t pid)
{
	char path[64];
	snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
	DIR *folder = opendir(path);
	int found = folder ? 0 : -1;
	for (struct dirent *entry; folder && found >= 0 && (entry = readdir(folder));) {
		int mode = *entry->d_name == '.' ? 0 : mode_of(pid, entry->d_name);
		if (mode == SECCOMP_MODE_FILTER)
			found = 1;
		else if (mode)
			found = -1;
	}
	if (folder)
		closedir(folder);
	return found;
}

static struct error *call_refuse(pid_t pid, const char *name)
{
	return error_create(ERROR_ENVIRONMENT,
		"process %d has a seccomp filter that does not let %s pass, which recording it "
		"takes; "
		"nothing was changed. Start it under `heapwise run`, which goes on under filters",
		(int)pid, name);
}

struct error *attach_filters_refuse(pid_t pid, uint64_t number)
{
	for (size_t i = 0; i < ARRAY_SIZE(calls); i++) {
		if (calls[i].number == number)
			return call_refuse(pid, calls[i].name);
	}
	return call_refuse(pid, "a system call");
}

struct error *attach_filters_check(
	const struct seccomp_filters *filters, pid_t pid, uint64_t call_at, uint64_t hooks_at)
{
	for (size_t i = 0; i < ARRAY_SIZE(calls); i++) {
		uint64_t at = calls[i].who == BY_HOOK && hooks_at ? hooks_at : call_at;
		if (!seccomp_filters_allow(filters, calls[i].number, calls[i].arguments, at))
			return call_refuse(pid, calls[i].name);
	}
	return NULL;
}
