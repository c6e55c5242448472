/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Machine code made at run time, in memory that belongs to no file: with frame pointers its callers
 * are found, through several such frames, and marked as a guess; without, the stack is marked as
 * cut. Other code at the same address later on is another matter. With an argument it lists its
 * code in /tmp/perf-PID.map, where perf and the recorder look for names: "with a list", one that is
 * "stale" or "another user's", or a "link".
 */
#include "truth.h"
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

TRUTH_SITE(site_below_one)
TRUTH_SITE(site_below_two)
TRUTH_SITE(site_below_bare)
TRUTH_SITE(site_after)

typedef void function(void *first, void *second);

/* push %rbp; mov %rsp, %rbp; mov %rdi, %rax; mov %rsi, %rdi; call *%rax; pop %rbp; ret */
static const unsigned char with_frame_pointer[] = {
	0x55, 0x48, 0x89, 0xe5, 0x48, 0x89, 0xf8, 0x48, 0x89, 0xf7, 0xff, 0xd0, 0x5d, 0xc3};
/* push %rbp; xor %ebp, %ebp; mov %rdi, %rax; mov %rsi, %rdi; call *%rax; pop %rbp; ret */
static const unsigned char bare[] = {
	0x55, 0x31, 0xed, 0x48, 0x89, 0xf8, 0x48, 0x89, 0xf7, 0xff, 0xd0, 0x5d, 0xc3};

static unsigned char *place;

static function *make(size_t at, const unsigned char *code, size_t bytes)
{
	truth_need(!mprotect(place, 4096, PROT_READ | PROT_WRITE), "mprotect");
	memcpy(place + at, code, bytes);
	truth_need(!mprotect(place, 4096, PROT_READ | PROT_EXEC), "mprotect");
	return (function *)(uintptr_t)(place + at);
}

static void leaf_one(void *first, void *second)
{
	(void)first, (void)second;
	truth_free(site_below_one(851));
}

static void leaf_two(void *first, void *second)
{
	(void)first, (void)second;
	truth_free(site_below_two(853));
}

static void leaf_bare(void *first, void *second)
{
	(void)first, (void)second;
	truth_free(site_below_bare(855));
}

TRUTH_FRAME static void call(function *code, void *first, void *second)
{
	code(first, second);
	TRUTH_STAY();
}

/* As perf wants it: later lines count. */
static void list_code(const char *how)
{
	char path[64], line[128];
	snprintf(path, sizeof path, "/tmp/perf-%d.map", (int)getpid());
	unlink(path); /* of an earlier process by that number */
	if (strcmp(how, "link") == 0) {
		truth_need(!symlink("/etc/passwd", path), "link");
		return;
	}
	int file = open(path, O_WRONLY | O_CREAT | O_EXCL, 0600);
	truth_need(file >= 0, "map");
	int length = snprintf(line, sizeof line,
		"%lx 40 an_earlier_one\nno line\n%lx 40 made_inner\n%lx 20 made_outer\n",
		(unsigned long)place, (unsigned long)place, (unsigned long)place + 64);
	truth_need(write(file, line, (size_t)length) == length, "map");
	const struct timespec long_ago[2] = {{.tv_sec = 1000000000}, {.tv_sec = 1000000000}};
	if (strcmp(how, "stale") == 0)
		truth_need(!futimens(file, long_ago), "time");
	if (strcmp(how, "another user's") == 0)
		truth_need(!fchown(file, 12345, (gid_t)-1), "owner");
	close(file);
}

int main(int count, char **arguments)
{
	place = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	truth_need(place != MAP_FAILED, "mmap");
	if (count > 1)
		list_code(arguments[1]);
	for (unsigned i = 0; i < 20; i++) {
		function *inner = make(0, with_frame_pointer, sizeof with_frame_pointer);
		function *outer = make(64, with_frame_pointer, sizeof with_frame_pointer);
		call(inner, (void *)(uintptr_t)leaf_one, NULL);
		call(outer, (void *)(uintptr_t)inner, (void *)(uintptr_t)leaf_two);
		call(make(0, bare, sizeof bare), (void *)(uintptr_t)leaf_bare, NULL);
		truth_free(site_after(857));
	}
	if (count > 1 && strcmp(arguments[1], "with a list") == 0) {
		truth_say("# expect: path site=site_below_two "
			  "chain=site_below_two<leaf_two<made_inner<made_outer<call<main");
	}
	truth_say("# expect: guessed site=site_below_one");
	truth_say("# expect: path site=site_below_one chain=site_below_one<leaf_one<call<main");
	truth_say("# expect: guessed site=site_below_two");
	truth_say("# expect: path site=site_below_two chain=site_below_two<leaf_two<call<main");
	truth_say("# expect: cut site=site_below_bare reason=no-unwind-info");
	truth_say("# expect: frames site=site_below_bare depth=3");
	truth_say("# expect: whole site=site_after");
	truth_end(TRUTH_TEMPORARY | TRUTH_PEAK);
	return 0;
}
