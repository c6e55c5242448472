/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "capture/shared_memory.h"

#include "base/cleanup.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/magic.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/vfs.h>
#include <unistd.h>

/* Where the memory can't be reserved exclusively, there has to be this much more of it. */
#define ROOM_FACTOR 2u

/* Reserves the room, except in memory, where that would take it at once. */
static bool has_room(int fd, uint64_t bytes)
{
	struct statfs fs;
	if (fstatfs(fd, &fs))
		return false;
	if (fs.f_type != TMPFS_MAGIC && fs.f_type != RAMFS_MAGIC)
		return !fallocate(fd, 0, 0, (off_t)bytes);
	/* A tmpfs without a limit says that it has no blocks at all. */
	return !fs.f_blocks || (uint64_t)fs.f_bavail * (uint64_t)fs.f_bsize >= ROOM_FACTOR * bytes;
}

static int file_create(const char *folder, size_t folder_bytes, const char *name, uint64_t bytes)
{
	char path[PATH_MAX];
	int n = snprintf(path, sizeof(path), "%.*s/%s.XXXXXX", (int)folder_bytes, folder, name);
	if (n < 0 || (size_t)n >= sizeof(path))
		return -1;
	_cleanup_close_ int fd = mkostemp(path, O_CLOEXEC);
	if (fd < 0 || unlink(path) || ftruncate(fd, (off_t)bytes) || !has_room(fd, bytes))
		return -1;
	int ret = fd;
	fd = -1;
	return ret;
}

/* Who is sent it can't change its size: what both sides have mapped stays there. */
#define SEALS (F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL)

int shared_memory_create(const char *name, uint64_t bytes, const char *beside)
{
	int memory = memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING), why = errno;
	if (memory >= 0 && !ftruncate(memory, (off_t)bytes) && !fcntl(memory, F_ADD_SEALS, SEALS))
		return memory;
	if (memory >= 0) {
		why = errno;
		close(memory);
		errno = why;
		return -1;
	}
	const char *runtime = getenv("XDG_RUNTIME_DIR"), *slash = strrchr(beside, '/');
	const char *const places[] = {"/dev/shm", runtime && *runtime == '/' ? runtime : "/run",
		"/tmp", "/var/tmp", slash ? beside : "."};
	for (unsigned i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
		size_t length = places[i] == beside ? (size_t)(slash - beside) : strlen(places[i]);
		int fd = file_create(places[i], length, name, bytes);
		if (fd >= 0)
			return fd;
	}
	errno = why;
	return -1;
}

/* A line of /proc/PID/maps, as far as it matters (proc_pid_maps(5)). */
struct mapping {
	uint64_t start, end;
	bool is_ours; /* its file is called as the memory of a session is */
};

static const char *hex_read(const char *at, uint64_t *ret)
{
	uint64_t value = 0;
	for (;; at++) {
		if (*at >= '0' && *at <= '9')
			value = value << 4 | (uint64_t)(*at - '0');
		else if (*at >= 'a' && *at <= 'f')
			value = value << 4 | (uint64_t)(*at - 'a' + 10);
		else
			break;
	}
	*ret = value;
	return at;
}

static struct mapping mapping_of_line(const char *line)
{
	struct mapping m = {0, 0, false};
	const char *at = hex_read(line, &m.start);
	if (*at == '-')
		hex_read(at + 1, &m.end);
	m.is_ours = strstr(line, SHARED_MEMORY_PREFIX) != NULL;
	return m;
}

/* The mapping that `address` lies in. Runs in a signal handler: it only uses system calls and the
 * stack.
 */
static struct mapping mapping_find(uint64_t address)
{
	struct mapping found = {0, 0, false};
	char line[PATH_MAX + 128], part[1024];
	size_t length = 0;
	int maps = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
	for (ssize_t n; maps >= 0 && !found.end && (n = read(maps, part, sizeof(part))) > 0;) {
		for (ssize_t i = 0; i < n && !found.end; i++) {
			if (part[i] != '\n') {
				if (length + 1 < sizeof(line))
					line[length++] = part[i];
				continue;
			}
			line[length] = 0;
			length = 0;
			struct mapping m = mapping_of_line(line);
			if (m.start <= address && address < m.end)
				found = m;
		}
	}
	if (maps >= 0)
		close(maps);
	return found;
}

/*
 * A page of a file that is no longer there, or that the disk has no room for. The mapping is
 * replaced by zeros, which shared_memory_is_torn() recognises, and the instruction is restarted.
 * Other faults are handled as without this handler.
 */
static void on_bus_error(int signal, siginfo_t *info, void *context)
{
	(void)context;
	int before = errno;
	struct mapping m = mapping_find((uint64_t)info->si_addr);
	if (!m.is_ours || mmap((void *)m.start, m.end - m.start, PROT_READ | PROT_WRITE,
				  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1,
				  0) == MAP_FAILED) {
		static const struct sigaction usual = {.sa_handler = SIG_DFL};
		sigaction(signal, &usual, NULL);
	}
	errno = before;
}

void shared_memory_survive(void)
{
	struct sigaction action = {.sa_sigaction = on_bus_error, .sa_flags = SA_SIGINFO};
	sigaction(SIGBUS, &action, NULL);
}

bool shared_memory_is_torn(const struct hw_shm *shm)
{
	return __atomic_load_n(&shm->magic, __ATOMIC_RELAXED) != HW_SHM_MAGIC;
}
