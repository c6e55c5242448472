/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * marks: four threads that allocate, free and set marks behind a lock, so that what lives at each
 * mark, what of a range between two is kept, and the most that was live in it are known here. Some
 * marks are of signal handlers, one inside the other. Then a child is forked, marks and execs.
 *
 *     # mark NAME live_bytes live_blocks
 *     # range FROM TO allocated_bytes kept_bytes peak_bytes
 *
 * The bytes of a site are the truth: what libc allocates for threads is not among them.
 */
#include "truth.h"

#include <heapwise/client.h>

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/wait.h>

#define THREADS 4
#define MARKS 64
#define BLOCKS 24
#define STEPS_A_MARK 37
#define FILLING 3000

TRUTH_SITE(site_marked)

/* What is live, and the marks between which each block has been allocated. */
static struct held {
	void *block;
	uint64_t bytes;
	unsigned since; /* allocated after so many marks */
} held[THREADS][BLOCKS];

static pthread_barrier_t all_there; /* and libc has allocated what it needs for them */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static uint64_t live, blocks, allocated;
static unsigned marks;
static char names[MARKS][16];
static uint64_t live_at[MARKS], blocks_at[MARKS], allocated_at[MARKS];
static uint64_t peak_after[MARKS]; /* from that mark to the next one */
static uint64_t kept[MARKS][MARKS];

/* What a mark costs where nobody records stands in its code. */
TRUTH_FRAME void mark_alone(void);
TRUTH_FRAME void mark_alone(void)
{
	heapwise_mark("alone");
}

static void note_peak(void)
{
	if (marks && live > peak_after[marks - 1])
		peak_after[marks - 1] = live;
}

static void on_signal(int number)
{
	heapwise_mark(number == SIGUSR1 ? "handler" : "inner");
	if (number == SIGUSR1)
		raise(SIGUSR2);
}

/* So much that the recording has several chunks of events. It neither adds to what is live nor to
 * a peak. */
static void fill(void)
{
	for (unsigned i = 0; i < FILLING; i++) {
		void *volatile none = malloc(0);
		free(none);
	}
}

/* A mark; with the lock. */
static void mark(void)
{
	fill();
	snprintf(names[marks], sizeof(names[marks]), "mark %u", marks);
	if (marks % 4 == 3)
		raise(SIGUSR1);
	heapwise_mark(names[marks]);
	live_at[marks] = peak_after[marks] = live;
	blocks_at[marks] = blocks;
	allocated_at[marks] = allocated;
	/* Of what is live now, what has come since each mark before. */
	for (unsigned thread = 0; thread < THREADS; thread++)
		for (unsigned i = 0; i < BLOCKS; i++)
			for (unsigned from = 0; from < held[thread][i].since; from++)
				kept[from][marks] += held[thread][i].bytes;
	marks++;
}

static void step(unsigned thread, unsigned *random)
{
	*random = *random * 1103515245u + 12345u;
	struct held *one = &held[thread][*random / 65536u % BLOCKS];
	if (one->block) {
		truth_free(one->block);
		live -= one->bytes;
		blocks--;
		*one = (struct held){NULL, 0, 0};
		return;
	}
	one->bytes = 8 + *random / 8192u % 5000u;
	one->block = site_marked(one->bytes);
	one->since = marks;
	live += one->bytes;
	allocated += one->bytes;
	blocks++;
	note_peak();
}

static void *work(void *argument)
{
	unsigned thread = (unsigned)(uintptr_t)argument, random = thread * 77 + 5;
	pthread_barrier_wait(&all_there);
	for (unsigned i = 0; i < MARKS / THREADS; i++)
		for (unsigned n = 0; n <= STEPS_A_MARK + thread; n++) {
			pthread_mutex_lock(&lock);
			step(thread, &random);
			if (n == STEPS_A_MARK + thread)
				mark();
			pthread_mutex_unlock(&lock);
			if (n % 8 == thread)
				sched_yield();
		}
	return NULL;
}

static void tell(void)
{
	for (unsigned i = 0; i < MARKS; i++)
		printf("# mark %u %lu %lu\n", i, (unsigned long)live_at[i],
			(unsigned long)blocks_at[i]);
	for (unsigned from = 0; from < MARKS; from++) {
		uint64_t peak = 0;
		for (unsigned to = from + 1; to < MARKS; to++) {
			peak = peak_after[to - 1] > peak ? peak_after[to - 1] : peak;
			printf("# range %u %u %lu %lu %lu\n", from, to,
				(unsigned long)(allocated_at[to] - allocated_at[from]),
				(unsigned long)kept[from][to], (unsigned long)peak);
		}
	}
}

int main(int argc, char **argv)
{
	if (argc > 1) {
		heapwise_mark("after exec");
		return heapwise_is_recording() ? 0 : 5;
	}
	static char buffer[1 << 16];
	setvbuf(stdout, buffer, _IOFBF, sizeof(buffer));
	struct sigaction action = {.sa_handler = on_signal};
	sigaction(SIGUSR1, &action, NULL);
	sigaction(SIGUSR2, &action, NULL);
	pthread_barrier_init(&all_there, NULL, THREADS);
	pthread_t threads[THREADS];
	for (uintptr_t i = 0; i < THREADS; i++)
		truth_need(!pthread_create(&threads[i], NULL, work, (void *)i), "a thread");
	for (unsigned i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	heapwise_mark("before fork");
	printf("# recorded %d\n", heapwise_is_recording());
	fflush(stdout);
	pid_t child = fork();
	if (child == 0) {
		heapwise_mark("in child");
		execl("/proc/self/exe", argv[0], "child", (char *)NULL);
		_exit(6);
	}
	int status = 0;
	waitpid(child, &status, 0);
	printf("# child %d\n", WIFEXITED(status) ? WEXITSTATUS(status) : -1);
	mark_alone();
	heapwise_mark("after fork");
	/* Cut, empty, ours, and none. */
	static char longest[400];
	memset(longest, 'x', sizeof(longest) - 1);
	heapwise_mark(longest);
	heapwise_mark("");
	heapwise_mark("fork:7");
	heapwise_mark(NULL);
	tell();
	printf("# end\n");
	return 0;
}
