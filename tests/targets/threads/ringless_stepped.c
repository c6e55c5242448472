/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * ringless_stepped jumps|dies|forks: 600 threads hold all rings that there are. Then threads
 * without one are stopped after each so-manieth instruction of their events, where their handler
 *   jumps   leaves by siglongjmp,
 *   dies    ends the thread, without a word to libc,
 *   forks   forks, and the event goes on in both processes.
 * After each of these another thread without a ring allocates: that must be recorded exactly, and
 * it must not wait long. Without a recorder nothing is stepped through.
 */
#include "truth.h"
#include <dlfcn.h>
#include <link.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <ucontext.h>

TRUTH_SITE(site_holder)
TRUTH_SITE(site_witness)
TRUTH_SITE_REALLOC(site_witness_resized)

enum { HOLDERS = 600, STACK = 128 << 10, STEPS_MAX = 100000, TRAP_FLAG = 0x100 };
/* A prime, so that each round meets other instructions. */
enum { STRIDE = 61, ROUNDS_MAX = 400 };

static uint64_t hook_start, hook_end;
static const char *what;
static pthread_barrier_t all_here, may_end;
static __thread sigjmp_buf back;
static __thread long steps, stop_at;
static long ended_whole; /* rounds that ended before they were stopped */

__attribute__((noinline)) static void *site_of_child(size_t bytes)
{
	void *volatile block = malloc(bytes);
	return block;
}

static void fork_here(void)
{
	pid_t child = fork();
	if (child) {
		int status = -1;
		truth_need(child > 0 && waitpid(child, &status, 0) == child && !status, "a child");
	}
}

static void act(greg_t *registers)
{
	registers[REG_EFL] &= ~TRAP_FLAG;
	if (what[0] == 'j')
		siglongjmp(back, 1);
	if (what[0] == 'd')
		syscall(SYS_exit, 0);
	fork_here();
}

static void handler(int number, siginfo_t *information, void *context)
{
	greg_t *registers = ((ucontext_t *)context)->uc_mcontext.gregs;
	uint64_t at = (uint64_t)registers[REG_RIP];
	truth_need(number == SIGTRAP && information, "number");
	if (at - hook_start < hook_end - hook_start && ++steps == stop_at)
		act(registers);
}

static inline void step(int on)
{
	if (on)
		__asm__ volatile("pushf\n orq $0x100, (%%rsp)\n popf" ::: "memory", "cc");
	else
		__asm__ volatile("pushf\n andq $~0x100, (%%rsp)\n popf" ::: "memory", "cc");
}

/* Its first event of all makes the thread known, unstepped. */
static void *victim(void *argument)
{
	pid_t process = getpid();
	free(malloc(17));
	stop_at = (long)(intptr_t)argument;
	if (!sigsetjmp(back, 1)) {
		step(1);
		void *block = malloc(901);
		block = realloc(block, 1907);
		free(block);
		step(0);
		if (steps < stop_at)
			TRUTH_ADD(ended_whole, 1);
	}
	if (getpid() != process) {
		free(site_of_child(903));
		_exit(0);
	}
	return NULL;
}

static void *witness(void *argument)
{
	for (size_t i = 0; i < 3; i++)
		truth_free(site_witness_resized(site_witness(905 + i), 1909 + i));
	return argument;
}

static void *holder(void *argument)
{
	site_holder(907);
	pthread_barrier_wait(&all_here);
	pthread_barrier_wait(&may_end);
	return argument;
}

/* The object that malloc is found in, unless that is libc. */
static void find_hook(void)
{
	struct dl_find_object found;
	void *hook = dlsym(RTLD_DEFAULT, "malloc");
	if (!hook || _dl_find_object(hook, &found) || strstr(found.dlfo_link_map->l_name, "/libc."))
		return;
	hook_start = (uint64_t)found.dlfo_map_start;
	hook_end = (uint64_t)found.dlfo_map_end;
}

static pthread_attr_t attributes;

static void run_thread(void *(*body)(void *), intptr_t argument)
{
	pthread_t thread;
	truth_need(!pthread_create(&thread, &attributes, body, (void *)argument), "thread");
	truth_need(!pthread_join(thread, NULL), "join");
}

int main(int count, char **arguments)
{
	truth_need(count == 2, "arguments");
	what = arguments[1];
	struct sigaction action = {.sa_sigaction = handler, .sa_flags = SA_SIGINFO | SA_NODEFER};
	sigaction(SIGTRAP, &action, NULL);
	find_hook();
	pthread_attr_init(&attributes);
	pthread_attr_setstacksize(&attributes, STACK);
	pthread_barrier_init(&all_here, NULL, HOLDERS + 1);
	pthread_barrier_init(&may_end, NULL, HOLDERS + 1);
	static pthread_t holders[HOLDERS];
	for (int i = 0; i < HOLDERS; i++)
		truth_need(!pthread_create(&holders[i], &attributes, holder, NULL), "thread");
	pthread_barrier_wait(&all_here);
	int rounds = 0;
	for (long at = 1; rounds < ROUNDS_MAX && !ended_whole; at += STRIDE, rounds++) {
		run_thread(victim, at);
		run_thread(witness, 0);
	}
	pthread_barrier_wait(&may_end);
	for (int i = 0; i < HOLDERS; i++)
		pthread_join(holders[i], NULL);
	truth_say("# rounds %d", rounds);
	truth_end(TRUTH_PLAIN);
	return 0;
}
