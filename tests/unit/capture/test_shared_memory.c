/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Memory of a session, as a memfd and, where that is forbidden, as a file that its other side may
 * cut off. */
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include "capture/shared_memory.h"

#include "lib/tap.h"

#define BYTES (64u << 10)
#define NAME SHARED_MEMORY_PREFIX "test"

/* As containers' profiles do it. */
static void forbid_memfd(void)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_memfd_create, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	const struct sock_fprog program = {sizeof(code) / sizeof(code[0]), code};
	CHECK(!prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0));
	if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program))
		SKIP("seccomp filters can't be installed here");
}

static struct hw_shm *map_new(int *ret_fd)
{
	*ret_fd = shared_memory_create(NAME, BYTES, "/tmp/beside");
	CHECK(*ret_fd >= 0);
	struct hw_shm *shm = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, *ret_fd, 0);
	CHECK(shm != MAP_FAILED);
	__atomic_store_n(&shm->magic, HW_SHM_MAGIC, __ATOMIC_RELAXED);
	CHECK(!shared_memory_is_torn(shm));
	return shm;
}

CASE(sealed, "nobody changes the size of a memfd, and its first page can be written over")
{
	int fd;
	struct hw_shm *shm = map_new(&fd);
	CHECK(ftruncate(fd, 0) && errno == EPERM);
	CHECK(ftruncate(fd, BYTES + 4096) && errno == EPERM);
	CHECK(fcntl(fd, F_ADD_SEALS, F_SEAL_WRITE) && errno == EPERM);
	memset(shm, 0, sizeof(shm->magic));
	CHECK(shared_memory_is_torn(shm));
}

CASE(cut_off, "where a file takes its place, who has it mapped survives that it is cut off")
{
	int fd;
	forbid_memfd();
	struct hw_shm *shm = map_new(&fd);
	struct stat st;
	CHECK(!fstat(fd, &st) && st.st_nlink == 0 && st.st_size == BYTES);
	shared_memory_survive();
	CHECK(!ftruncate(fd, 0));
	CHECK(shared_memory_is_torn(shm));
	volatile uint8_t *bytes = (uint8_t *)shm;
	for (size_t at = 0; at < BYTES; at += 512)
		CHECK_U64(bytes[at], 0);
	bytes[BYTES - 1] = 1; /* and writing does no harm */
}

CASE(elsewhere, "a bus error of other memory ends the process as ever")
{
	char path[] = "/tmp/heapwise-test.XXXXXX";
	int fd = mkstemp(path), status;
	CHECK(fd >= 0 && !unlink(path) && !ftruncate(fd, 4096));
	volatile uint8_t *bytes = mmap(NULL, 4096, PROT_READ, MAP_SHARED, fd, 0);
	CHECK(bytes != MAP_FAILED);
	pid_t child = fork();
	if (!child) {
		signal(SIGBUS, SIG_DFL); /* not a sanitizer's */
		shared_memory_survive();
		_exit(ftruncate(fd, 0) || bytes[0] ? 1 : 2);
	}
	CHECK(child > 0 && waitpid(child, &status, 0) == child);
	CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGBUS);
}

TAP_MAIN
