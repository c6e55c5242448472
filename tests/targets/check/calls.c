/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Errors in what C programs give to functions of libc. See wrongs.h; what is expected of a call:
 *
 *   expect KIND OFFSET after|before|inside SIZE [freed] by FUNCTION
 *   expect KIND by FUNCTION
 *
 * Built without the compiler's own forms of these functions.
 */
#include "wrongs.h"

#include <ctype.h>
#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/sysinfo.h>
#include <sys/time.h>
#include <sys/times.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <sys/utsname.h>
#include <sys/vfs.h>
#include <sys/wait.h>
#include <unistd.h>
#include <wchar.h>

#define SIZE 21u /* of blocks: odd, with bytes behind it that no one has */
#define OVER 4u  /* so far beyond the end go the bad forms */

static void expect_by(
	const char *kind, size_t offset, const char *where, size_t size, const char *by)
{
	printf("expect %s %zu %s %zu by %s\n", kind, offset, where, size, by);
	fflush(stdout);
}

static void expect_freed_by(const char *kind, size_t offset, size_t size, const char *by)
{
	printf("expect %s %zu inside %zu freed by %s\n", kind, offset, size, by);
	fflush(stdout);
}

static void expect_kind_by(const char *kind, const char *by)
{
	printf("expect %s by %s\n", kind, by);
	fflush(stdout);
}

/* A block that is full: no NUL in it. */
static char *full_block(void)
{
	char *p = hide(malloc(SIZE));
	for (unsigned i = 0; i < SIZE; i++)
		p[i] = (char)('a' + i % 7);
	return p;
}

/* Another with a string that just fits. */
static char *string_block(void)
{
	char *p = full_block();
	p[SIZE - 1] = 0;
	return p;
}

static size_t hide_size(size_t n)
{
	__asm__ volatile("" : "+r"(n));
	return n;
}

static volatile long long sink; /* what is not used is not computed */

/* What the good forms print. */
static void show(const char *what, long long value)
{
	printf("%s %lld\n", what, value);
}

/* Of the bad forms nobody knows what comes out. */
static void show_if(bool good, const char *what, long long value)
{
	sink = value;
	if (good)
		show(what, value);
}

/* Does `call` with n, which is what there is room for, or in the bad form more. */
#define WRITES(name, call)                                                                         \
	do {                                                                                       \
		char *p = full_block();                                                            \
		size_t n = hide_size(good ? SIZE : SIZE + OVER);                                   \
		if (!good)                                                                         \
			expect_by("InvalidWrite", 0, "after", SIZE, name);                         \
		call;                                                                              \
		show(name, p[SIZE - 1]);                                                           \
		free(p);                                                                           \
	} while (0)

#define READS(name, call)                                                                          \
	do {                                                                                       \
		char *p = full_block();                                                            \
		size_t n = hide_size(good ? SIZE : SIZE + OVER);                                   \
		if (!good)                                                                         \
			expect_by("InvalidRead", 0, "after", SIZE, name);                          \
		call;                                                                              \
		free(p);                                                                           \
	} while (0)

static void memory(bool good)
{
	static char from[64] = "static", to[64];
	WRITES("memcpy", memcpy(p, from, n));
	WRITES("memmove", memmove(p, from, n));
	WRITES("mempcpy", sink = (long long)mempcpy(p, from, n));
	WRITES("memset", memset(p, 7, n));
	WRITES("memset", bzero(p, n));
	WRITES("memmove", bcopy(from, p, n));
	WRITES("memccpy", memccpy(p, from, 'z', n));
	WRITES("explicit_bzero", explicit_bzero(p, n));
	READS("memcpy", memcpy(to, p, n));
	READS("memmove", memmove(to, p, n));
	READS("mempcpy", sink = (long long)mempcpy(to, p, n));
	READS("memccpy", memccpy(to, p, 'z', n));
	READS("memrchr", sink = (long long)memrchr(p, 'z', n));
	READS("memmem", sink = (long long)memmem(p, n, "zz", 2));
	READS("memchr", sink = (long long)memchr(p, 'z', n));
}

/* What ends before the block does is fine, whatever the size that is given. */
static void memory_ends(bool good)
{
	static char equal[64];
	char *p = full_block();
	memcpy(equal, p, SIZE);
	show("memchr", (char *)memchr(p, 'c', 1000) - p);
	show("memccpy", memccpy(equal + 30, p, 'c', 1000) != NULL);
	equal[3] = '-';
	show("memcmp", memcmp(p, equal, SIZE + OVER) > 0);
	equal[3] = p[3];
	if (!good)
		expect_by("InvalidRead", 0, "after", SIZE, "memcmp");
	show_if(good, "memcmp", memcmp(p, equal, good ? SIZE : SIZE + OVER));
	memcpy(p, p, SIZE); /* an assignment to itself */
	free(p);
}

static void memory_before(bool good)
{
	static char to[64];
	char *p = full_block();
	size_t n = hide_size(OVER);
	if (!good)
		expect_by("InvalidRead", OVER, "before", SIZE, "memcpy");
	memcpy(to, good ? p : p - n, n);
	/* What is there stays as it is. */
	if (!good)
		expect_by("InvalidWrite", OVER, "before", SIZE, "memmove");
	memmove(good ? p : p - n, to, n);
	show("memcpy", to[0] != 0 || !good);
	free(p);
}

static void freed(bool good)
{
	static char to[64], from[64];
	char *p = string_block();
	if (!good)
		free(p);
	if (!good)
		expect_freed_by("InvalidRead", 0, SIZE, "memcpy");
	memcpy(to, p, hide_size(SIZE));
	if (!good)
		expect_freed_by("InvalidRead", 3, SIZE, "strlen");
	show_if(good, "freed", (long long)strlen(p + 3));
	if (!good)
		expect_freed_by("InvalidRead", 5, SIZE, "memcmp");
	show_if(good, "freed", memcmp(p + 5, from, hide_size(3)) > 0);
	if (!good)
		expect_freed_by("SyscallParam", 1, SIZE, "write(buf)");
	show_if(good, "freed", write(open("/dev/null", O_WRONLY), p + 1, 2));
	if (good)
		free(p);
}

/* --- strings --- */

#define ENDLESS(name, call)                                                                        \
	do {                                                                                       \
		char *p = good ? string_block() : full_block();                                    \
		if (!good)                                                                         \
			expect_by("InvalidRead", 0, "after", SIZE, name);                          \
		show_if(good, name, (long long)(call));                                            \
		free(p);                                                                           \
	} while (0)

/* The bytes behind a block are no end of a string of its own: where libc goes on to, nobody
 * knows. */
static void endless(bool good)
{
	static char to[256];
	ENDLESS("strlen", strlen(p));
	ENDLESS("strnlen", strnlen(p, 100));
	ENDLESS("strchr", strchr(p, 'z') != NULL);
	ENDLESS("strchr", index(p, 'z') != NULL);
	ENDLESS("strrchr", (strrchr(p, 'a') - p));
	ENDLESS("strrchr", (rindex(p, 'a') - p));
	ENDLESS("strchrnul", (strchrnul(p, 'z') - p));
	ENDLESS("rawmemchr", ((char *)rawmemchr(p, good ? 'g' : 0) - p));
	ENDLESS("strstr", strstr(p, "zz") != NULL);
	ENDLESS("strpbrk", strpbrk(p, "xyz") != NULL);
	ENDLESS("strspn", strspn(p, "abcdefg\xc9\xdf"));
	ENDLESS("strcspn", strcspn(p, "xyz"));
	ENDLESS("strcpy", strcpy(to, p) != to);
	ENDLESS("stpcpy", (stpcpy(to, p) - to));
	ENDLESS("strncpy", strncpy(to, p, SIZE + 2) != to);
	ENDLESS("stpncpy", (stpncpy(to, p, SIZE + 2) - to));
	ENDLESS("strcat", strcat(strcpy(to, "x"), p) != to);
	ENDLESS("strncat", strncat(strcpy(to, "x"), p, SIZE + 2) != to);
	char *copy = NULL;
	ENDLESS("strdup", !(copy = strdup(p)));
	free(copy);
	ENDLESS("strndup", !(copy = strndup(p, SIZE + 2)));
	free(copy);
	ENDLESS("strcoll", strcoll(p, "zz") < 0);
}

/* memcmp of blocks that differ in their last byte, from one place that calls often, whatever size
 * it is given: libc's loads more than it compares. */
static void compare_beyond(void)
{
	unsigned right = 0, made = 0;
	for (size_t size = 1; size < 80; size += 3)
		for (size_t more = 1; more < 600; more += 37, made++) {
			char *a = hide(malloc(size)), *b = hide(malloc(size));
			memset(a, 1, size);
			memset(b, 1, size);
			b[size - 1] = 2;
			right += memcmp(a, b, hide_size(size + more)) < 0;
			free(a);
			free(b);
		}
	show("memcmp", made - right);
}

/* Comparisons end with a difference. */
static void compared(bool good)
{
	compare_beyond();
	char other[64] = {0};
	memcpy(other, full_block(), SIZE);
	other[SIZE] = 'x';
	char *p = good ? string_block() : full_block();
	show("strcmp", strcmp(p, "abd") < 0);
	show("strncmp", strncmp(p, "abd", 1000) < 0);
	show("strcasecmp", strcasecmp(p, "ABD") < 0);
	show("strncasecmp", strncasecmp(p, "ABCdE", 5));
	show("strchr", strchr(p, 'c') - p);
	show("strchrnul", strchrnul(p, 'd') - p);
	show("strstr", strstr(p, "efg") - p);
	show("strpbrk", strpbrk(p, "xgy") - p);
	show("strcspn", (long long)strcspn(p, "xgy"));
	show("strspn", (long long)strspn(p, "cab"));
#define COMPARED(name, call)                                                                       \
	if (!good)                                                                                 \
		expect_by("InvalidRead", 0, "after", SIZE, name);                                  \
	show_if(good, name, (call) != 0);
	COMPARED("strcmp", strcmp(p, other));
	COMPARED("strcmp", strcmp(other, p));
	COMPARED("strncmp", strncmp(p, other, SIZE + 1));
	COMPARED("strcasecmp", strcasecmp(p, other));
	COMPARED("strncasecmp", strncasecmp(p, other, SIZE + 1));
	free(p);
}

/* Copies to blocks that are too small by OVER bytes. */
static void small_destination(bool good)
{
	char from[SIZE + OVER + 1], *text = from;
	memset(from, 'x', sizeof(from));
	from[good ? SIZE - 1 : SIZE + OVER - 1] = 0;
	WRITES("strcpy", strcpy(p, text));
	WRITES("stpcpy", sink = (long long)stpcpy(p, text));
	WRITES("strncpy", strncpy(p, "x", n));
	WRITES("stpncpy", sink = (long long)stpncpy(p, "x", n));
	WRITES("strcat", (p[5] = 0, strcat(p, text + 5)));
	WRITES("strncat", (p[5] = 0, strncat(p, text + 5, 100)));
}

static void overlaps(bool good)
{
	/* On the stack: there is no block that could tell. */
	char stack[64];
	memset(stack, 'a', sizeof(stack));
	size_t n = hide_size(16), by = hide_size(good ? 16 : 15);
#define OVERLAPS(name, call)                                                                       \
	if (!good)                                                                                 \
		expect_kind_by("Overlap", name);                                                   \
	call;
	OVERLAPS("memcpy", memcpy(stack, stack + by, n));
	OVERLAPS("memcpy", memcpy(stack + by, stack, n));
	OVERLAPS("mempcpy", sink = (long long)mempcpy(stack, stack + by, n));
	OVERLAPS("memccpy", memccpy(stack, stack + by, 'z', n));
	OVERLAPS("strncpy", strncpy(stack, stack + by, n));
	OVERLAPS("stpncpy", sink = (long long)stpncpy(stack, stack + by, n));
	memset(stack, 'a', sizeof(stack));
	stack[31] = 0; /* strings of 15 and of 16 from there */
	OVERLAPS("strcpy", strcpy(good ? stack : stack + 1, stack + 16));
	if (!good)
		return;
	memmove(stack, stack + 3, 20);
	memcpy(stack, stack, 5);
	stack[5] = stack[30] = 0;
	strcat(stack, stack + 10);
	strncpy(stack + 20, stack, 10);
	show("overlaps", stack[3]);
}

/* Strings: in one block, the end of the one within the other. */
static void overlapping_strings(bool good)
{
	char *p = malloc(100);
#define AGAIN() (memset(p, 'b', 100), p[20] = p[9] = 0)
	AGAIN();
	size_t from = good ? 40 : 15;
	p[45] = 0;
	OVERLAPS("strcpy", strcpy(p + (good ? 30 : 12), p + from));
	AGAIN();
	p[45] = 0;
	OVERLAPS("stpcpy", sink = (long long)stpcpy(p + (good ? 30 : 12), p + from));
	AGAIN();
	p[99] = 0;
	OVERLAPS("strcat", strcat(p + (good ? 60 : 4), good ? "" : p + 12));
	AGAIN();
	p[99] = 0;
	OVERLAPS("strncat", strncat(p + 4, p + (good ? 60 : 7), 8));
	show("strings", p[4]);
	free(p);
}

/* --- wide characters --- */

static wchar_t *wide_block(bool ends)
{
	wchar_t *p = hide(malloc(SIZE * sizeof(wchar_t)));
	for (unsigned i = 0; i < SIZE; i++)
		p[i] = (wchar_t)('a' + i % 7);
	if (ends)
		p[SIZE - 1] = 0;
	return p;
}

#define WIDE_BYTES (SIZE * sizeof(wchar_t))
#define WIDE(kind, name, call)                                                                     \
	do {                                                                                       \
		wchar_t *p = wide_block(good);                                                     \
		size_t n = hide_size(good ? SIZE : SIZE + 1);                                      \
		if (!good)                                                                         \
			expect_by(kind, 0, "after", WIDE_BYTES, name);                             \
		show_if(good, name, (long long)(call));                                            \
		free(p);                                                                           \
	} while (0)

static void wide(bool good)
{
	static wchar_t from[64] = L"wide", to[256];
	wchar_t text[SIZE + 2];
	wmemset(text, L'x', SIZE + 2);
	text[good ? SIZE - 1 : SIZE] = 0;
	wchar_t *equal = wcscpy(to + 100, wide_block(true));
	equal[SIZE - 1] = wide_block(false)[SIZE - 1];
	equal[SIZE] = L'x';
	WIDE("InvalidRead", "wcslen", wcslen(p));
	WIDE("InvalidRead", "wcsnlen", wcsnlen(p, 100));
	WIDE("InvalidRead", "wcschr", wcschr(p, L'z') != NULL);
	WIDE("InvalidRead", "wcsrchr", wcsrchr(p, L'a') != NULL);
	WIDE("InvalidRead", "wcscpy", wcscpy(to, p) != to);
	WIDE("InvalidRead", "wcscmp", wcscmp(p, equal) != 0);
	WIDE("InvalidRead", "wmemcpy", wmemcpy(to, p, n) != to);
	WIDE("InvalidRead", "wmemchr", wmemchr(p, L'z', n) != NULL);
	WIDE("InvalidWrite", "wmemcpy", wmemcpy(p, from, n) != p);
	WIDE("InvalidWrite", "wmempcpy", wmempcpy(p, from, n) == p);
	WIDE("InvalidWrite", "wmemmove", wmemmove(p, from, n) != p);
	WIDE("InvalidWrite", "wmemset", wmemset(p, L'y', n) != p);
	WIDE("InvalidWrite", "wcscpy", wcscpy(p, text) != p);
	WIDE("InvalidWrite", "wcsncpy", wcsncpy(p, L"x", n) != p);
	WIDE("InvalidWrite", "wcscat", (p[5] = 0, wcscat(p, text + 5) != p));
}

/* --- what is printed to memory --- */

static int print_listed(bool bounded, char *to, size_t most, const char *format, ...)
{
	va_list list;
	va_start(list, format);
	int n = bounded ? vsnprintf(to, most, format, list) : vsprintf(to, format, list);
	va_end(list);
	return n;
}

#define PRINTS(name, call)                                                                         \
	do {                                                                                       \
		char *p = full_block();                                                            \
		if (!good)                                                                         \
			expect_by("InvalidWrite", 0, "after", SIZE, name);                         \
		show(name, call);                                                                  \
		show(p, p[4]);                                                                     \
		free(p);                                                                           \
	} while (0)

static void prints(bool good)
{
	/* With the NUL one byte more than fits. */
	long number = good ? 5 : 55;
	PRINTS("sprintf", sprintf(p, "%s %ld", "eighteen character", number) - !good);
	PRINTS("vsprintf",
		print_listed(false, p, 0, "%s %ld", "eighteen character", number) - !good);
	/* A size that is too large does no harm as long as the text is short. */
	size_t said = SIZE + 1;
	PRINTS("snprintf", snprintf(p, said, "%s %ld", "eighteen character", number) - !good);
	PRINTS("vsnprintf",
		print_listed(true, p, said, "%s %ld", "eighteen character", number) - !good);
	char *p = full_block();
	show("snprintf", snprintf(p, SIZE, "%s %ld", "eighteen character and more", 7l));
	show("snprintf", snprintf(NULL, 0, "%s", "x"));
	show("snprintf", snprintf(p, SIZE + 1000, "%d", 7));
	free(p);
}

/* --- the kernel's and files' buffers --- */

#define BUFFER(name, call)                                                                         \
	do {                                                                                       \
		char *p = full_block();                                                            \
		size_t n = hide_size(good ? SIZE : SIZE + OVER);                                   \
		if (!good)                                                                         \
			expect_by("SyscallParam", 0, "after", SIZE, name);                         \
		show_if(good, name, (long long)(call));                                            \
		free(p);                                                                           \
	} while (0)

static void messages(bool good, const int *pair)
{
	char small[OVER] = "abc";
	struct iovec one = {small, OVER}, two[2] = {one, one};
	struct msghdr message = {.msg_iov = &one, .msg_iovlen = 1};
	struct msghdr longer = {.msg_iov = two, .msg_iovlen = 2};
	struct mmsghdr several[2] = {{.msg_hdr = message}, {.msg_hdr = longer}};
	BUFFER("sendmsg(msg.msg_iov[1])",
		(two[1] = (struct iovec){p, n}, sendmsg(pair[0], &longer, 0)));
	BUFFER("recvmsg(msg.msg_name)",
		(message.msg_name = p, message.msg_namelen = n, recvmsg(pair[1], &message, 0)));
	message.msg_name = NULL;
	BUFFER("sendmsg(msg.msg_control)", (message.msg_control = p, message.msg_controllen = n,
						   sendmsg(pair[0], &message, 0)));
	BUFFER("sendmsg(mmsg[1].msg_iov[1])",
		(two[1] = (struct iovec){p, n}, sendmmsg(pair[0], several, 2, 0)));
	two[1] = one;
	BUFFER("recvmsg(mmsg[0].msg_iov[0])",
		(one = (struct iovec){p, n}, recvmmsg(pair[1], several, 2, 0, NULL)));
}

static void system_calls(bool good)
{
	int zero = open("/dev/zero", O_RDWR), null = open("/dev/null", O_RDWR), pair[2];
	char small[OVER] = "abc";
	socketpair(AF_UNIX, SOCK_DGRAM, 0, pair);
	BUFFER("read(buf)", read(zero, p, n));
	BUFFER("write(buf)", write(null, p, n));
	BUFFER("pread64(buf)", pread(zero, p, n, 0));
	BUFFER("pwrite64(buf)", pwrite(null, p, n, 0));
	BUFFER("socketcall.sendto(msg)", send(pair[0], p, n, 0));
	BUFFER("socketcall.recvfrom(buf)", recv(pair[1], p, n, 0));
	BUFFER("socketcall.sendto(msg)", sendto(pair[0], p, n, 0, NULL, 0));
	BUFFER("socketcall.recvfrom(buf)", recvfrom(pair[1], p, n, 0, NULL, NULL));
	BUFFER("getcwd(buf)", getcwd(p, n) == p || 1);
	BUFFER("readlink(buf)", readlink("/proc/self", p, n) > 0);
	BUFFER("readlinkat(buf)", readlinkat(AT_FDCWD, "/proc/self", p, n) > 0);
	BUFFER("getrandom(buf)", getrandom(p, n, 0));
	BUFFER("readv(vector[...])", readv(zero, (struct iovec[2]){{small, OVER}, {p, n}}, 2));
	BUFFER("writev(vector[...])", writev(null, (struct iovec[2]){{small, OVER}, {p, n}}, 2));
	struct msghdr message = {.msg_iovlen = 1};
	BUFFER("sendmsg(msg.msg_iov[0])",
		(message.msg_iov = &(struct iovec){p, n}, sendmsg(pair[0], &message, 0)));
	BUFFER("recvmsg(msg.msg_iov[0])",
		(message.msg_iov = &(struct iovec){p, n}, recvmsg(pair[1], &message, 0)));
	messages(good, pair);
	/* Addresses that no one has are the kernel's affair, as ever. */
	show("read", read(zero, (void *)8, 5));
}

/* What the kernel is given by other calls: of each a block of the size that the call needs, or one
 * that is smaller by OVER; a name that has an end, or one that has none. */
#define GIVEN(name, size, call)                                                                    \
	do {                                                                                       \
		size_t n = hide_size(good ? (size) : (size) - (OVER < (size) ? OVER : 1));         \
		char *p = hide(calloc(1, n));                                                      \
		if (!good)                                                                         \
			expect_by("SyscallParam", 0, "after", n, name);                            \
		show_if(good, name, (long long)(call) != 0);                                       \
		free(p);                                                                           \
	} while (0)

#define NAMED(name, call)                                                                          \
	do {                                                                                       \
		char *p = good ? string_block() : full_block();                                    \
		if (!good)                                                                         \
			expect_by("SyscallParam", 0, "after", SIZE, name);                         \
		show_if(good, name, (long long)(call) != 0);                                       \
		free(p);                                                                           \
	} while (0)

static void names(bool good)
{
	struct stat facts;
	NAMED("open(filename)", open(p, O_RDONLY));
	NAMED("openat(filename)", openat(AT_FDCWD, p, O_RDONLY));
	NAMED("open(filename)", fopen(p, "r"));
	NAMED("open(filename)", opendir(p));
	NAMED("access(pathname)", access(p, R_OK));
	NAMED("chdir(path)", chdir(p));
	NAMED("unlink(pathname)", unlink(p));
	NAMED("rmdir(pathname)", rmdir(p));
	NAMED("chmod(path)", chmod(p, 0600));
	NAMED("rename(oldpath)", rename(p, "/no/such"));
	NAMED("rename(newpath)", rename("/no/such", p));
	NAMED("stat(file_name)", stat(p, &facts));
	NAMED("lstat(file_name)", lstat(p, &facts));
	NAMED("fstatat(file_name)", fstatat(AT_FDCWD, p, &facts, 0));
	GIVEN("stat(buf)", sizeof(facts), stat("/", (struct stat *)p));
	GIVEN("fstat(buf)", sizeof(facts), fstat(1, (struct stat *)p));
	GIVEN("statfs(buf)", sizeof(struct statfs), statfs("/", (struct statfs *)p));
	/* A name that is too long is the kernel's to refuse; an address that no one has, too. */
	char *endless = hide(malloc(5000));
	memset(endless, 'a', 5000);
	show("open", open(endless, O_RDONLY));
	free(endless);
	show("open", open((char *)hide((void *)8), O_RDONLY));
	show("stat", stat("/", (struct stat *)hide((void *)8)));
}

static void structures(bool good)
{
	int pair[2], status;
	socklen_t length;
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	struct timespec none = {0};
	pipe(pair);
	int other = socket(AF_UNIX, SOCK_STREAM, 0);
	int queue = epoll_create1(0);
	GIVEN("poll(ufds)", 2 * sizeof(struct pollfd),
		(memset(p, 0xff, n), poll((struct pollfd *)p, 2, 0)));
	GIVEN("select(readfds)", 16, select(128, (fd_set *)p, NULL, NULL, (struct timeval *)&none));
	GIVEN("epoll_wait(events)", 3 * sizeof(struct epoll_event),
		epoll_wait(queue, (struct epoll_event *)p, 3, 0));
	GIVEN("epoll_ctl(event)", sizeof(struct epoll_event),
		epoll_ctl(queue, EPOLL_CTL_ADD, pair[0], (struct epoll_event *)p));
	GIVEN("readv(vector)", 2 * sizeof(struct iovec), readv(pair[0], (struct iovec *)p, 2));
	GIVEN("sendmsg(msg)", sizeof(struct msghdr), sendmsg(-1, (struct msghdr *)p, 0));
	GIVEN("sendmmsg(mmsg)", 2 * sizeof(struct mmsghdr),
		sendmmsg(-1, (struct mmsghdr *)p, 2, 0));
	GIVEN("signalfd4(sigmask)", 8, close(signalfd(-1, (sigset_t *)p, 0)));
	GIVEN("wait4(status)", sizeof(int), waitpid(-1, (int *)p, WNOHANG));
	GIVEN("socketcall.connect(serv_addr)", 40, connect(other, (struct sockaddr *)p, 40));
	GIVEN("socketcall.getsockname(name)", 24,
		(length = 24, getsockname(other, (struct sockaddr *)p, &length)));
	GIVEN("socketcall.getsockname(namelen_in)", sizeof(int),
		getsockname(other, (struct sockaddr *)&address, (socklen_t *)p));
	GIVEN("socketcall.getsockopt(optval)", 8,
		(length = 8, getsockopt(other, SOL_SOCKET, SO_TYPE, p, &length)));
	GIVEN("socketcall.setsockopt(optval)", 8,
		setsockopt(other, SOL_SOCKET, SO_REUSEADDR, p, 8));
	GIVEN("socketcall.socketpair(sv)", 8, socketpair(AF_UNIX, SOCK_STREAM, 0, (int *)p));
	GIVEN("pipe(filedes)", 8, pipe((int *)p));
	GIVEN("gettimeofday(tv)", 16, gettimeofday((struct timeval *)p, NULL));
	GIVEN("clock_gettime(tp)", 16, clock_gettime(CLOCK_MONOTONIC, (struct timespec *)p));
	GIVEN("nanosleep(req)", 16, nanosleep((struct timespec *)p, NULL));
	GIVEN("uname(buf)", sizeof(struct utsname), uname((struct utsname *)p));
	GIVEN("sysinfo(info)", sizeof(struct sysinfo), sysinfo((struct sysinfo *)p));
	GIVEN("getrlimit(rlim)", 16, getrlimit(RLIMIT_CORE, (struct rlimit *)p));
	GIVEN("getrusage(usage)", sizeof(struct rusage),
		getrusage(RUSAGE_SELF, (struct rusage *)p));
	GIVEN("times(buf)", sizeof(struct tms), times((struct tms *)p));
	GIVEN("ioctl(FIONREAD)", 4, ioctl(pair[0], FIONREAD, p));
	GIVEN("ioctl(TCGETS)", 36, ioctl(pair[0], TCGETS, p));
	GIVEN("fcntl(F_GETLK)", sizeof(struct flock), fcntl(pair[0], F_GETLK, p));
	/* Numbers as arguments, sizes of 0, and what is not given at all. */
	show("fcntl", fcntl(pair[0], F_GETFD));
	show("ioctl", ioctl(pair[0], FIOCLEX));
	show("getgroups", getgroups(0, NULL) >= 0);
	show("select", select(0, NULL, NULL, NULL, (struct timeval *)&none));
	show("getsockname", getsockname(other, (struct sockaddr *)&address, hide((void *)8)));
	show("wait", waitpid(-1, NULL, WNOHANG));
	/* The kernel refuses a negative length, and accesses nothing. */
	char *small = hide(malloc(8));
	length = (socklen_t)-1;
	show("negative", getsockname(other, (struct sockaddr *)small, &length));
	show("negative", setsockopt(other, SOL_SOCKET, SO_REUSEADDR, small, (socklen_t)-1));
	free(small);
	(void)status;
}

static void files(bool good)
{
	FILE *file = tmpfile();
	BUFFER("fwrite(ptr)", fwrite(p, 1, n, file));
	BUFFER("fwrite(ptr)", (fwrite(p, n, 1, file), fflush(file), rewind(file), 0));
	/* They may be asked for more than there is room for, if there is less to read. */
	char *few = hide(malloc(SIZE));
	ftruncate(fileno(file), 4);
	rewind(file);
	fread(few, 1, 4 * SIZE, file);
	rewind(file);
	fgets(few, 4 * SIZE, file);
	free(few);
	fclose(file);
}

/* New blocks have a pattern, where the test asks for it: what of it leaves the program. */
static void filled(bool good)
{
	int null = open("/dev/null", O_RDWR);
	char *p = hide(malloc(SIZE)), *zeros = hide(calloc(1, SIZE));
	memset(p, 1, 7);
	write(null, p, 7);
	write(null, zeros, SIZE);
	if (!good)
		expect_by("SyscallParam", 7, "inside", SIZE, "write(buf)");
	write(null, p, good ? 7 : SIZE);
	memset(p + 9, 1, SIZE - 9);
	write(null, p, SIZE);
	free(p);
	free(zeros);
}

/* In any thread, and a handler. */
static void *write_too_much(void *argument)
{
	char *p = full_block();
	memset(p, 0, hide_size(*(bool *)argument ? SIZE : SIZE + OVER));
	free(p);
	return NULL;
}

static volatile sig_atomic_t handled; /* the good or the bad form, as it is in a handler */

static void handle(int number)
{
	write_too_much((bool[1]){handled});
	(void)number;
}

static void handlers(bool good)
{
	handled = good;
	signal(SIGUSR1, handle);
	if (!good)
		expect_by("InvalidWrite", 0, "after", SIZE, "memset");
	raise(SIGUSR1);
	show("handlers", 1);
}

static void threads(bool good)
{
	pthread_t thread;
	for (int i = 0; i < 3; i++) {
		if (!good)
			expect_by("InvalidWrite", 0, "after", SIZE, "memset");
		pthread_create(&thread, NULL, write_too_much, &good);
		pthread_join(thread, NULL);
	}
	show("threads", 3);
}

/* Sizes of blocks and places in them: nothing of this is wrong. */
static void places(bool good)
{
	static char to[1 << 16];
	unsigned long long sum = 0;
	for (size_t size = 1; size < 1 << 16; size += size / 5 + 1) {
		char *p = hide(malloc(size)), *other = hide(calloc(1, size)), *last = NULL;
		for (size_t at = 0; at < size; at += at / 7 + 1) {
			memset(p + at, (int)at, size - at);
			memcpy(other + at, p + at, size - at);
			memcpy(to, other + at, size - at);
			p[size - 1] = 0;
			sum += strlen(p + at) + (strrchr(p + at, 0) - p);
		}
		last = hide(realloc(p, size * 3));
		memset(last, 1, size * 3);
		sum += (unsigned char)to[size / 2] + !memcmp(last, other, 1);
		free(last);
		free(other);
	}
	show("places", (long long)sum);
	(void)good;
}

/* One place calls often, and goes wrong late. */
static void often(bool good)
{
	static char to[64];
	char *p = full_block();
	long long sum = 0;
	for (unsigned i = 0; i < 20000; i++) {
		volatile size_t bytes = i >= 16000 && !good ? SIZE + OVER : SIZE;
		memcpy(to, p, bytes);
		sum += to[i % SIZE];
	}
	free(p);
	show("often", sum);
}

static const struct story stories[] = {
	{"memory", memory},
	{"memory_ends", memory_ends},
	{"memory_before", memory_before},
	{"freed", freed},
	{"endless", endless},
	{"compared", compared},
	{"small_destination", small_destination},
	{"overlaps", overlaps},
	{"overlapping_strings", overlapping_strings},
	{"wide", wide},
	{"prints", prints},
	{"system_calls", system_calls},
	{"names", names},
	{"structures", structures},
	{"files", files},
	{"filled", filled},
	{"handlers", handlers},
	{"threads", threads},
	{"places", places},
	{"often", often},
	{NULL, NULL},
};

int main(int argc, char **argv)
{
	return tell_story(argc, argv, stories);
}
