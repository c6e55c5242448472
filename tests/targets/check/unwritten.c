/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * unwritten STORY: programs whose results depend on heap memory that they never wrote, and good
 * twins of them.
 *
 *   flag        bytes 4 to 7 of a block of 16 decide what is printed
 *   status      byte 9 of a block decides the exit status
 *   many        in block number 73,311 of some 100,000, bytes 24 to 31
 *   zero        only whether memory is zero matters
 *   grown       what a realloc has added
 *   two         two blocks, each of which changes a line
 *   both        as flag, and a write of memory that was never written
 *   together    two blocks that only together change the line
 *   input       one of as many blocks as there are lines on standard input
 *   crash       an address that was never set is used
 *   good        all is written before it is read
 *   cleared     memory of calloc is read
 *   pid         one line differs in each run, and none depends on memory
 *   pid-flag    one line differs in each run, another one depends on memory
 *   random      the number of lines differs in each run
 *   child       as flag, in a program that a child executes
 *   forked      as flag, in a child
 *   executed    as flag, in a program that is executed in place of this one
 *   parent      as flag, and a child executes a program whose first block is written
 *   family      as flag, here and in a program that a child executes
 *   holds FILE  a child executes "held": FILE is open at the number that the library was given
 *   held N      whether descriptor N is still open, after a block was allocated
 */
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

struct record {
	int32_t number, flag, other[2];
};

static void *checked(void *block)
{
	if (!block)
		abort();
	return block;
}

static __attribute__((noinline)) struct record *make_record(int number)
{
	struct record *record = checked(malloc(sizeof(*record)));
	record->number = number;
	record->other[0] = record->other[1] = 0;
	return record;
}

static void tell_flag(void)
{
	struct record *record = make_record(7);
	printf("record %d\n", record->number);
	printf("%s\n", record->flag & 1 ? "odd" : "even");
	free(record);
}

static int status_of_byte(void)
{
	unsigned char *bytes = checked(malloc(40));
	memset(bytes, 1, 9);
	memset(bytes + 10, 1, 30);
	int sum = 0;
	for (int i = 0; i < 40; i++)
		sum ^= bytes[i];
	free(bytes);
	return sum & 3;
}

#define MANY 100000
#define CHOSEN 73310 /* the array is the first block */

static void tell_many(void)
{
	char **blocks = checked(malloc(MANY * sizeof(*blocks)));
	uint64_t sum = 0, word;
	for (int i = 0; i < MANY; i++) {
		blocks[i] = checked(malloc(48));
		memset(blocks[i], i & 15, 24);
		if (i != CHOSEN)
			memset(blocks[i] + 24, 0, 8);
		memset(blocks[i] + 32, 1, 16);
	}
	for (int i = 0; i < MANY; i++) {
		for (int j = 0; j < 48; j += 8) {
			memcpy(&word, blocks[i] + j, sizeof(word));
			sum = sum * 31 + word;
		}
	}
	printf("%llu\n", (unsigned long long)sum);
	for (int i = 0; i < MANY; i++)
		free(blocks[i]);
	free(blocks);
}

static void tell_zero(void)
{
	struct record *record = make_record(1);
	puts(record->flag ? "set" : "clear");
	free(record);
}

static void tell_grown(void)
{
	char *text = checked(malloc(16));
	memset(text, 'a', 16);
	text = checked(realloc(text, 4000));
	printf("%d\n", text[3000] & 1);
	free(text);
}

static void tell_two(void)
{
	struct record *a = make_record(1), *b = make_record(2), *c = make_record(3);
	b->flag = 0;
	printf("%d\n%d\n%d\n", a->flag & 1, b->flag & 1, c->flag & 1);
	free(a);
	free(b);
	free(c);
}

static void tell_both(void)
{
	tell_flag();
	struct record *record = make_record(8);
	int ends[2];
	if (pipe(ends) || write(ends[1], record, sizeof(*record)) != sizeof(*record))
		abort();
	free(record);
}

static void tell_together(void)
{
	struct record *a = make_record(1), *b = make_record(2);
	puts((a->flag & 1) == 0 && (b->flag & 1) == 0 ? "both" : "not both");
	free(a);
	free(b);
}

static void tell_input(void)
{
	char line[200];
	int number = 0;
	while (fgets(line, sizeof(line), stdin)) {
		struct record *record = make_record(number++);
		if (strcmp(line, "unset\n"))
			record->flag = 0;
		printf("%d\n", record->flag & 1);
		free(record);
	}
}

static void use_address(void)
{
	struct node {
		struct node *next;
		char text[24];
	} *node = checked(malloc(sizeof(*node)));
	strcpy(node->text, "end");
	for (struct node *n = node; n; n = n->next)
		puts(n->text);
	fflush(stdout);
	free(node);
}

static void tell_written(void)
{
	struct record *record = make_record(7);
	record->flag = 1;
	printf("%d\n", record->flag);
	free(record);
}

static void tell_cleared(void)
{
	struct record *record = checked(calloc(1, sizeof(*record)));
	printf("%d\n", record->flag);
	free(record);
}

static void tell_random(void)
{
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	static int salt; /* of its address, which may be the same each time */
	unsigned lines =
		1 + (unsigned)(now.tv_nsec ^ now.tv_nsec >> 7 ^ getpid() ^ (long)&salt) % 97;
	for (unsigned i = 0; i < lines; i++)
		puts("line");
}

static void execute_story(const char *story, const char *argument)
{
	fflush(stdout);
	execl("/proc/self/exe", "unwritten", story, argument, (char *)NULL);
	_exit(3);
}

/* Story NULL: the child tells "flag" itself. */
static void run_child(const char *story, const char *argument)
{
	fflush(stdout);
	pid_t child = fork();
	if (!child && story)
		execute_story(story, argument);
	if (!child) {
		tell_flag();
		fflush(stdout);
		_exit(0);
	}
	if (child < 0 || waitpid(child, NULL, 0) != child)
		abort();
}

static void tell_child(void)
{
	tell_written();
	run_child("flag", NULL);
}

static void tell_forked(void)
{
	tell_written();
	run_child(NULL, NULL);
}

static void tell_executed(void)
{
	tell_written();
	execute_story("flag", NULL);
}

static void tell_parent(void)
{
	tell_flag();
	run_child("good", NULL);
}

static void tell_family(void)
{
	tell_flag();
	run_child("flag", NULL);
}

static int hold_file(const char *path)
{
	const char *settings = getenv("HEAPWISE_CHECK");
	const char *sums = settings ? strstr(settings, "sums=") : NULL;
	int number = sums ? (int)strtol(sums + 5, NULL, 10) : 100;
	int file = open(path, O_RDWR);
	char text[16];
	if (file < 0 || (file != number && dup2(file, number) < 0))
		return 3;
	if (file != number)
		close(file);
	snprintf(text, sizeof(text), "%d", number);
	run_child("held", text);
	puts(fcntl(number, F_GETFD) < 0 ? "closed" : "open");
	return 0;
}

static int tell_held(const char *number)
{
	free(make_record(1));
	puts(fcntl((int)strtol(number, NULL, 10), F_GETFD) < 0 ? "closed" : "open");
	return 0;
}

int main(int argc, char **argv)
{
	const char *story = argc > 1 ? argv[1] : "";
	static const struct {
		const char *name;
		void (*run)(void);
	} stories[] = {{"flag", tell_flag}, {"many", tell_many}, {"zero", tell_zero},
		{"grown", tell_grown}, {"two", tell_two}, {"both", tell_both},
		{"together", tell_together}, {"input", tell_input}, {"crash", use_address},
		{"good", tell_written}, {"cleared", tell_cleared}, {"random", tell_random},
		{"child", tell_child}, {"forked", tell_forked}, {"executed", tell_executed},
		{"parent", tell_parent}, {"family", tell_family}};
	if (!strcmp(story, "status"))
		return status_of_byte();
	if (argc > 2 && !strcmp(story, "holds"))
		return hold_file(argv[2]);
	if (argc > 2 && !strcmp(story, "held"))
		return tell_held(argv[2]);
	if (!strncmp(story, "pid", 3)) {
		printf("process %d\n", (int)getpid());
		story = story[3] ? "flag" : "good";
	}
	for (size_t i = 0; i < sizeof(stories) / sizeof(*stories); i++) {
		if (!strcmp(stories[i].name, story)) {
			stories[i].run();
			return 0;
		}
	}
	return 2;
}
