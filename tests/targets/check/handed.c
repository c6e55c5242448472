/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * handed STORY [N]: programs that hand heap memory to the kernel which they never wrote, and good
 * twins of them. Each "expect CALL OFFSET SIZE" is the first such byte of a call: its offset in its
 * block, and the block's size. Copies are in no block.
 *
 *   padding     a structure with padding, by write
 *   half        a buffer of which a half was written, by write and pwrite
 *   vectors     the second of two buffers, by writev
 *   sent        by send, sendto and sendmsg
 *   coded       by ioctl, with a request that says its size
 *   written     as padding, but it is cleared before
 *   equal       as padding, but all its bytes are N
 *   cleared     as half, from calloc
 *   grown       what a realloc has added
 *   reused      a block with the memory of one that was freed
 *   large       a block that has a mapping of its own
 *   many        after 100,000 allocations
 *   threads     as padding, in four threads at once
 *   copied      as padding, copied to the stack
 *   forked      as padding, in a child
 *   clock       as padding, with a number that differs in each run
 *   sometimes   as padding, but only if what was never written has a certain value
 *   addresses   of sockets, whose padding the kernel does not read
 *   often       as padding, N times, all alike
 *   ranges      a block of N structures, by one write
 *   kinds       as half, N buffers of different sizes
 */
#include <netinet/in.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

struct record {
	char tag; /* 3 bytes of padding follow */
	int32_t number;
	int64_t total;
};

static int target; /* what is handed over goes here */

static void *checked(void *block)
{
	if (!block)
		abort();
	return block;
}

static void expect(const char *call, size_t offset, size_t size)
{
	printf("expect %s %zu %zu\n", call, offset, size);
}

/* As written members by member, so that the padding stays as it was. */
static void set_record(volatile struct record *record)
{
	record->tag = 'U';
	record->number = 0x55555555;
	record->total = -1;
}

static __attribute__((noinline)) struct record *make_record(void)
{
	struct record *record = checked(malloc(sizeof(*record)));
	set_record(record);
	return record;
}

static __attribute__((noinline)) char *make_half(size_t size)
{
	char *bytes = checked(malloc(size));
	memset(bytes, 'U', size / 2);
	return bytes;
}

static void hand(const void *from, size_t bytes)
{
	if (write(target, from, bytes) != (ssize_t)bytes)
		abort();
}

static void hand_record(void)
{
	struct record *record = make_record();
	hand(record, sizeof(*record));
	free(record);
}

static void tell_padding(int n)
{
	(void)n;
	expect("write(buf)", 1, sizeof(struct record));
	hand_record();
}

static void tell_half(int n)
{
	(void)n;
	char *bytes = make_half(100);
	expect("write(buf)", 50, 100);
	hand(bytes, 100);
	hand(bytes, 50);
	free(bytes);
	bytes = make_half(60);
	expect("pwrite64(buf)", 30, 60);
	if (pwrite(target, bytes + 10, 40, 0) != 40)
		abort();
	free(bytes);
}

static void tell_vectors(int n)
{
	(void)n;
	char *bytes = make_half(40);
	struct iovec two[2] = {{"first", 5}, {bytes, 40}};
	expect("writev(vector[...])", 20, 40);
	if (writev(target, two, 2) != 45)
		abort();
	free(bytes);
}

static void tell_sent(int n)
{
	(void)n;
	int ends[2];
	char *bytes = make_half(24);
	struct iovec one = {bytes, 24};
	struct msghdr message = {.msg_iov = &one, .msg_iovlen = 1};
	if (socketpair(AF_UNIX, SOCK_DGRAM, 0, ends))
		abort();
	expect("socketcall.sendto(msg)", 12, 24);
	expect("socketcall.sendto(msg)", 12, 24);
	expect("sendmsg(msg.msg_iov[0])", 12, 24);
	if (send(ends[0], bytes, 24, 0) != 24 || sendto(ends[0], bytes, 24, 0, NULL, 0) != 24 ||
		sendmsg(ends[0], &message, 0) != 24)
		abort();
	free(bytes);
	close(ends[0]);
	close(ends[1]);
}

static void tell_coded(int n)
{
	(void)n;
	struct record *record = make_record();
	expect("ioctl(generic)", 1, sizeof(*record));
	ioctl(target, _IOW('~', 17, struct record), record);
	free(record);
}

static void tell_written(int n)
{
	(void)n;
	struct record *record = checked(malloc(sizeof(*record)));
	memset(record, 0, sizeof(*record));
	set_record(record);
	hand(record, sizeof(*record));
	free(record);
}

static void tell_equal(int n)
{
	struct record *record = checked(malloc(sizeof(*record)));
	memset(record, n, sizeof(*record));
	hand(record, sizeof(*record));
	free(record);
}

static void tell_cleared(int n)
{
	(void)n;
	char *bytes = checked(calloc(10, 10));
	memset(bytes, 'U', 50);
	hand(bytes, 100);
	free(bytes);
}

static void tell_grown(int n)
{
	(void)n;
	char *bytes = checked(malloc(50));
	memset(bytes, 'a', 50);
	bytes = checked(realloc(bytes, 3000));
	expect("write(buf)", 50, 3000);
	hand(bytes, 3000);
	free(bytes);
}

static void tell_reused(int n)
{
	(void)n;
	for (int i = 0; i < 3; i++) {
		char *bytes = checked(malloc(72));
		memset(bytes, 'b', i == 2 ? 71 : 72);
		if (i == 2)
			expect("write(buf)", 71, 72);
		hand(bytes, 72);
		free(bytes);
	}
}

static void tell_large(int n)
{
	(void)n;
	size_t size = 600001;
	char *bytes = checked(malloc(size));
	memset(bytes, 'c', size - 1);
	expect("write(buf)", size - 1, size);
	hand(bytes, size);
	free(bytes);
}

#define MANY 100000

static void tell_many(int n)
{
	(void)n;
	static char *blocks[MANY];
	for (int i = 0; i < MANY; i++) {
		blocks[i] = checked(malloc(48));
		memset(blocks[i], i & 255, i == MANY - 1 ? 40 : 48);
	}
	expect("write(buf)", 40, 48);
	hand(blocks[MANY - 1], 48);
	for (int i = 0; i < MANY; i++)
		free(blocks[i]);
}

static void *run_thread(void *unused)
{
	for (int i = 0; i < 8; i++)
		hand_record();
	return unused;
}

static void tell_threads(int n)
{
	(void)n;
	pthread_t threads[4];
	expect("write(buf)", 1, sizeof(struct record));
	for (int i = 0; i < 4; i++)
		if (pthread_create(&threads[i], NULL, run_thread, NULL))
			abort();
	for (int i = 0; i < 4; i++)
		pthread_join(threads[i], NULL);
}

static void tell_copied(int n)
{
	(void)n;
	struct record copy, *record = make_record();
	memcpy(&copy, record, sizeof(copy));
	puts("expect write(buf)");
	hand(&copy, sizeof(copy));
	free(record);
}

static void tell_forked(int n)
{
	(void)n;
	fflush(stdout);
	pid_t child = fork();
	if (!child) {
		hand_record();
		_exit(0);
	}
	if (child < 0 || waitpid(child, NULL, 0) != child)
		abort();
}

static void tell_clock(int n)
{
	(void)n;
	struct timespec now;
	struct record *record = make_record();
	clock_gettime(CLOCK_MONOTONIC, &now);
	record->total = now.tv_nsec * 4099 ^ getpid();
	expect("write(buf)", 1, sizeof(*record));
	hand(record, sizeof(*record));
	free(record);
}

static void tell_sometimes(int n)
{
	(void)n;
	struct record *record = make_record();
	if (((volatile char *)record)[2] == 0x55)
		hand(record, sizeof(*record));
	free(record);
}

static void tell_addresses(int n)
{
	(void)n;
	struct sockaddr_in *address = checked(malloc(sizeof(*address)));
	int s = socket(AF_INET, SOCK_DGRAM, 0);
	address->sin_family = AF_INET;
	address->sin_port = 0;
	address->sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	if (s >= 0)
		bind(s, (struct sockaddr *)address, sizeof(*address));
	close(s);
	free(address);
}

static void tell_often(int n)
{
	expect("write(buf)", 1, sizeof(struct record));
	for (int i = 0; i < n; i++)
		hand_record();
}

static void tell_ranges(int n)
{
	struct record *records = checked(malloc((size_t)n * sizeof(*records)));
	for (int i = 0; i < n; i++)
		set_record(&records[i]);
	expect("write(buf)", 1, (size_t)n * sizeof(*records));
	hand(records, (size_t)n * sizeof(*records));
	free(records);
}

static void tell_kinds(int n)
{
	for (int i = 0; i < n; i++) {
		char *bytes = make_half(16 + (size_t)i * 2);
		hand(bytes, 16 + (size_t)i * 2);
		free(bytes);
	}
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*run)(int n);
	} stories[] = {{"padding", tell_padding}, {"half", tell_half}, {"vectors", tell_vectors},
		{"sent", tell_sent}, {"coded", tell_coded}, {"written", tell_written},
		{"equal", tell_equal}, {"cleared", tell_cleared}, {"grown", tell_grown},
		{"reused", tell_reused}, {"large", tell_large}, {"many", tell_many},
		{"threads", tell_threads}, {"copied", tell_copied}, {"forked", tell_forked},
		{"clock", tell_clock}, {"sometimes", tell_sometimes}, {"addresses", tell_addresses},
		{"often", tell_often}, {"ranges", tell_ranges}, {"kinds", tell_kinds}};
	target = memfd_create("handed", MFD_CLOEXEC);
	if (argc < 2 || target < 0)
		return 2;
	for (size_t i = 0; i < sizeof(stories) / sizeof(*stories); i++) {
		if (!strcmp(stories[i].name, argv[1])) {
			stories[i].run(argc > 2 ? (int)strtol(argv[2], NULL, 0) : 0);
			return 0;
		}
	}
	return 2;
}
