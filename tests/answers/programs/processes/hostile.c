/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A recorded process that speaks to the collector in its own words, beside an innocent one.
 *
 *     hostile WAY
 *
 * The process makes ROUNDS pairs of malloc and free, and 100 blocks of 1,001 bytes that it keeps;
 * so does its first child, the innocent one, in part before and in part while its second child does
 * what WAY says (the table at the end). Truth of both: 100 + 2 * ROUNDS allocations at least, 100
 * blocks of 1,001 bytes never freed, no event lost.
 */
#define _GNU_SOURCE
#include "format/shm.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define ROUNDS 20000
/* As src/format/request.h has them. */
#define HW_REQUEST_MAGIC 0x6b736177u
#define HW_ASK_BLOCKS 2
struct hw_request {
	uint32_t magic, version;
	pid_t pid;
	uint32_t what, alignment, heuristics, anyhow, reserved;
	char text[4096];
};
#define KEPT 100
#define KEPT_BYTES 1001

static char *kept[KEPT];
static pid_t root, innocent;

static void rounds(int count)
{
	for (int i = 0; i < count; i++) {
		char *volatile block = malloc(10 + i % 100);
		free(block);
	}
}

static void keep(void)
{
	for (int i = 0; i < KEPT; i++)
		kept[i] = malloc(KEPT_BYTES);
}

static double now(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static int session(void)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	strncpy(address.sun_path, getenv("HEAPWISE_SESSION"), sizeof(address.sun_path) - 1);
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	struct timeval limit = {5, 0};
	setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit));
	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
	if (connect(fd, (struct sockaddr *)&address, sizeof(address))) {
		close(fd);
		return -1;
	}
	return fd;
}

static struct hw_hello hello_of(pid_t pid)
{
	return (struct hw_hello){HW_HELLO_MAGIC, HW_SHM_VERSION, pid, getppid(), HW_HELLO_FORK, 0,
		__builtin_ia32_rdtsc(), 0};
}

/* The memory that the collector answers a hello with; -1: it declines. */
static int hello(const struct hw_hello *said)
{
	int fd = session(), memory = -1;
	if (fd < 0 || send(fd, said, sizeof(*said), MSG_NOSIGNAL) != sizeof(*said))
		return -1;
	struct hw_welcome welcome;
	struct iovec part = {&welcome, sizeof(welcome)};
	char space[CMSG_SPACE(sizeof(int))] __attribute__((aligned(8)));
	struct msghdr message = {.msg_iov = &part,
		.msg_iovlen = 1,
		.msg_control = space,
		.msg_controllen = sizeof(space)};
	ssize_t n = recvmsg(fd, &message, MSG_CMSG_CLOEXEC);
	struct cmsghdr *c = n > 0 ? CMSG_FIRSTHDR(&message) : NULL;
	if (c && c->cmsg_type == SCM_RIGHTS)
		memcpy(&memory, CMSG_DATA(c), sizeof(int));
	close(fd);
	return memory;
}

static int own_memory(void)
{
	struct hw_hello said = hello_of(getpid());
	return hello(&said);
}

static char *map(int memory)
{
	return mmap(NULL, HW_SHM_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, memory, 0);
}

/* ---- the ways */

static void cut_off(void)
{
	int memory = own_memory();
	printf("ftruncate 0: %s\n", ftruncate(memory, 0) ? strerror(errno) : "done");
	usleep(100000);
}

static void cut_short(void)
{
	int memory = own_memory();
	printf("ftruncate 4096: %s\n", ftruncate(memory, 4096) ? strerror(errno) : "done");
	usleep(100000);
}

static void longer(void)
{
	int memory = own_memory();
	printf("ftruncate more: %s\n",
		ftruncate(memory, HW_SHM_BYTES * 2) ? strerror(errno) : "done");
	usleep(100000);
}

static void holes(void)
{
	int memory = own_memory();
	struct hw_ring *rings = (struct hw_ring *)(map(memory) + HW_SHM_RINGS);
	for (int i = 0; i < 100; i++) {
		rings[0].state = HW_RING_ACTIVE;
		rings[0].head += 1000;
		fallocate(memory, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, HW_SHM_BYTES);
		usleep(3000);
	}
}

/* Words that make no sense, everywhere. */
static void garbage(void)
{
	int memory = own_memory();
	char *shm = map(memory);
	struct hw_ring *rings = (struct hw_ring *)(shm + HW_SHM_RINGS);
	srand(7);
	for (int i = 0; i < 100; i++) {
		struct hw_ring *r = &rings[rand() % HW_RINGS];
		uint64_t *words =
			(uint64_t *)(shm + HW_SHM_DATA) + hw_ring_start((uint32_t)(r - rings));
		for (int k = 0; k < 500; k++)
			words[k] = (uint64_t)rand() << 33 ^ (uint64_t)rand() << 8 ^
				   (uint64_t)rand() % 0x40;
		r->tid = (uint32_t)rand();
		r->generation++;
		r->state = HW_RING_ACTIVE;
		r->head += (uint64_t)rand() % 2000;
		r->busy = (uint64_t)rand() % 2;
		struct hw_shm *head = (struct hw_shm *)shm;
		head->nodes = (uint32_t)rand();
		head->modules = (uint32_t)rand();
		head->strings = (uint32_t)rand();
		head->leaving = (uint32_t)rand() % 4;
		head->ring_wanted = head->doorbell = 1;
		uint32_t *node = (uint32_t *)(shm + HW_SHM_NODES + 16 * (uint64_t)(rand() % 5000));
		node[2] = (uint32_t)rand() % 6000;
		usleep(1000);
	}
}

/* It says that more was lost than can have been. */
static void counts(void)
{
	int memory = own_memory();
	struct hw_shm *head = (struct hw_shm *)map(memory);
	for (int i = 0; i < HW_LOST_REASONS; i++)
		head->lost[i] = 0x1234567890abcdull << i;
	head->stacks_full = head->longest_wait_ns = UINT64_MAX;
	head->unsent_notices = UINT32_MAX;
	struct hw_ring *ring = (struct hw_ring *)((char *)head + HW_SHM_RINGS);
	uint64_t *words = (uint64_t *)((char *)head + HW_SHM_DATA);
	words[0] = HW_R_STAMPED | HW_R_LOST | 0x123456789abcull << 8;
	words[1] = __builtin_ia32_rdtsc();
	ring->wait_ns = ring->longest_wait_ns = UINT64_MAX;
	ring->tid = (uint32_t)getpid();
	ring->state = HW_RING_ACTIVE;
	ring->head = 2;
	usleep(100000);
}

/* Says hello though it is recorded, and once more. */
static void again(void)
{
	rounds(1000);
	for (int i = 0; i < 300; i++)
		close(own_memory());
	rounds(1000);
}

/* Does not map what it gets. */
static void many_hellos(void)
{
	prctl(PR_SET_NAME, "many");
	for (int i = 0; i < 50; i++)
		close(own_memory());
}

static void silent(void)
{
	struct rlimit files;
	getrlimit(RLIMIT_NOFILE, &files);
	files.rlim_cur = files.rlim_max;
	setrlimit(RLIMIT_NOFILE, &files);
	int count = 0;
	while (count < 1000 && session() >= 0)
		count++;
	printf("%d connections\n", count);
	usleep(500000);
}

static void silent_few(void)
{
	for (int i = 0; i < 60; i++)
		session();
	usleep(1500000);
}

/* Comes and goes. */
static void flood(void)
{
	for (double end = now() + 0.4; now() < end;)
		close(session());
}

static int send_with(int fd, const void *data, size_t bytes, const int *fds, int count)
{
	char space[CMSG_SPACE(sizeof(int) * 8)] __attribute__((aligned(8))) = {0};
	struct iovec part = {(void *)data, bytes};
	struct msghdr message = {.msg_iov = &part,
		.msg_iovlen = 1,
		.msg_control = space,
		.msg_controllen = CMSG_SPACE(sizeof(int) * (size_t)count)};
	struct cmsghdr *c = CMSG_FIRSTHDR(&message);
	c->cmsg_level = SOL_SOCKET;
	c->cmsg_type = SCM_RIGHTS;
	c->cmsg_len = CMSG_LEN(sizeof(int) * (size_t)count);
	memcpy(CMSG_DATA(c), fds, sizeof(int) * (size_t)count);
	return (int)sendmsg(fd, &message, MSG_NOSIGNAL | MSG_DONTWAIT);
}

/* Of all lengths, with descriptors that block or have no end. */
static void messages(void)
{
	char bytes[70000];
	int pipes[2], huge = memfd_create("huge", 0), pair[2];
	pipe(pipes);
	ftruncate(huge, 1ll << 50);
	socketpair(AF_UNIX, SOCK_STREAM, 0, pair);
	const int fds[] = {pipes[0], open("/dev/zero", O_RDWR), huge, pair[0], open("/", O_PATH)};
	srand(3);
	for (int i = 0; i < 700; i++) {
		int fd = session();
		struct hw_hello *said = (struct hw_hello *)bytes;
		for (size_t k = 0; k < sizeof(bytes); k++)
			bytes[k] = (char)rand();
		*said = hello_of(i % 3 ? innocent : root);
		if (i % 4 == 1)
			said->magic = HW_NOTICE_MAGIC;
		if (i % 4 == 2)
			said->magic = HW_REQUEST_MAGIC;
		if (i % 7 == 0)
			said->version = (uint32_t)rand();
		size_t length = i % 5 == 0 ? (size_t)rand() % sizeof(bytes) : (size_t)i % 700;
		send_with(fd, bytes, length, fds, 1 + i % 5);
		close(fd);
	}
}

/* Says what others alone may say of themselves. */
static void lies(void)
{
	for (int i = 0; i < 200; i++) {
		struct hw_hello said = hello_of(i % 2 ? innocent : root);
		said.ppid = root;
		said.forked_from = innocent;
		said.forked_at = __builtin_ia32_rdtsc();
		said.reason = (uint32_t)i % 5;
		if (i < 20)
			close(hello(&said));
		struct hw_notice notice = {HW_NOTICE_MAGIC, HW_SHM_VERSION, i % 2 ? innocent : root,
			1, innocent, (uint32_t)i, __builtin_ia32_rdtsc(), ""};
		memset(notice.path, i % 3 ? 0x1b : 0xff, sizeof(notice.path));
		int fd = session();
		send(fd, &notice, sizeof(notice), MSG_NOSIGNAL);
		close(fd);
		struct hw_request request = {HW_REQUEST_MAGIC, HW_SHM_VERSION, innocent,
			3 + (uint32_t)i, 0, 0, 0, 0, ""};
		memset(request.text, 'x', sizeof(request.text));
		fd = session();
		send(fd, &request, sizeof(request), MSG_NOSIGNAL);
		close(fd);
	}
}

/* Asks for an innocent one's blocks and does not wait for them. */
static void asks(void)
{
	for (int i = 0; i < 100; i++) {
		struct hw_request request = {
			HW_REQUEST_MAGIC, HW_SHM_VERSION, innocent, HW_ASK_BLOCKS, 0, 0, 1, 0, ""};
		int fd = session();
		send(fd, &request, sizeof(request), MSG_NOSIGNAL);
		close(fd);
	}
}

/* Asks for anything, of itself, of no process and in words that mean nothing, and waits for the
 * answer. */
static void requests(void)
{
	static const char *const texts[] = {"", "allocated=1\n", "every=1ms\n", "peak=1\npages=1\n",
		"keep=1\nfile=\n", "file=%\n", "file=x.%p.junk.%i\n", "format=none\n",
		"format=gperftools/mapping\n", "signal=9\n", "signal=USR2\n", "rss=1%\n",
		"rss=101%\n", "at-exit=1\nannounce=1\n", "=\n\n=", "every=nan\n", "live",
		"sample:0", "sample:99999999999999999999G", "7fffffffffff", "-1"};
	static const uint32_t whats[] = {
		1, 3, 4, 4, 4, 5, 6, 7, 8, 9, 10, 11, 15, 16, 17, 1u << 31};
	struct hw_reply_begin {
		uint32_t ok;
		char rest[8192];
	} reply;
	srand(11);
	for (int i = 0; i < 600; i++) {
		struct hw_request request = {.magic = HW_REQUEST_MAGIC,
			.version = HW_SHM_VERSION - (i % 50 == 7),
			.pid = i % 3   ? 0
			       : i % 2 ? getpid()
				       : rand() - rand(),
			.what = whats[(size_t)rand() % (sizeof(whats) / sizeof(whats[0]))],
			.alignment = (uint32_t)rand(),
			.heuristics = (uint32_t)rand(),
			.anyhow = (uint32_t)rand(),
			.reserved = (uint32_t)rand() % 2};
		if (request.what == 3) /* names of files are not for guessing */
			request.reserved = 0;
		else if (i % 4)
			strcpy(request.text,
				texts[(size_t)rand() % (sizeof(texts) / sizeof(texts[0]))]);
		else
			for (size_t k = 0; k < sizeof(request.text) - 1; k++)
				request.text[k] = (char)rand();
		int fd = session();
		send(fd, &request, sizeof(request), MSG_NOSIGNAL);
		if (recv(fd, &reply, sizeof(reply), 0) > 0 && reply.ok > 1)
			puts("a strange answer");
		close(fd);
	}
}

static const struct way {
	const char *name;
	void (*go)(void);
} ways[] = {{"cut_off", cut_off}, {"cut_short", cut_short}, {"longer", longer}, {"holes", holes},
	{"garbage", garbage}, {"counts", counts}, {"again", again}, {"many_hellos", many_hellos},
	{"silent", silent}, {"silent_few", silent_few}, {"flood", flood}, {"messages", messages},
	{"lies", lies}, {"asks", asks}, {"requests", requests}};

static void go(const char *name)
{
	for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]); i++) {
		if (!strcmp(ways[i].name, name))
			ways[i].go();
	}
	fflush(stdout);
}

int main(int argc, char **argv)
{
	int ready[2], done[2];
	char byte;
	setvbuf(stdout, NULL, _IONBF, 0);
	root = getpid();
	pipe(ready);
	pipe(done);
	innocent = fork();
	if (!innocent) {
		close(done[1]);
		prctl(PR_SET_NAME, "innocent");
		keep();
		rounds(ROUNDS);
		write(ready[1], "", 1);
		struct pollfd end = {.fd = done[0], .events = POLLIN};
		while (!poll(&end, 1, 0))
			rounds(1000);
		rounds(ROUNDS);
		_exit(17);
	}
	read(ready[0], &byte, 1);
	pid_t hostile = fork();
	if (!hostile) {
		go(argv[1]);
		_exit(0);
	}
	keep();
	rounds(ROUNDS);
	if (!strcmp(argv[1], "root_again"))
		again();
	waitpid(hostile, NULL, 0);
	rounds(ROUNDS);
	close(done[1]);
	int status;
	waitpid(innocent, &status, 0);
	printf("innocent %d\n", innocent);
	return WEXITSTATUS(status) == 17 ? 0 : 1;
}
