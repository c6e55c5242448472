/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Blocks that are held from outside of the heap in unusual ways, or by what is of the past, so that
 * all roads by which a program is searched have to agree. With $MAIN_ENDS the first thread ends by
 * pthread_exit, and another one stays; $LIBRARY is loaded on the way.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <sys/syscall.h>
#ifdef __GLIBC__
#include <ucontext.h>
#endif

#include "account.h"

ACCOUNT_DEFINE;

#define STACK (256u << 10)
#define PAGE 4096u
#define KEYS 64u

/* Each is a place of its own in a recording. */
#define ROLE(role, leak)                                                                           \
	static __attribute__((noinline)) void *role(size_t size)                                   \
	{                                                                                          \
		void *block = malloc(size);                                                        \
		memset(block, 0, size);                                                            \
		account(block, size, leak, #role);                                                 \
		__asm__ volatile("" : "+r"(block) : : "memory");                                   \
		return block;                                                                      \
	}

ROLE(in_first_key, 'r')
ROLE(in_late_key, 'r')
ROLE(in_static_storage, 'r')
ROLE(in_frame, 'r')
ROLE(below_frame, 'd')
ROLE(beside_stack, 'r')
ROLE(in_handler, 'r')
ROLE(in_interrupted, 'r')
ROLE(in_read_only, 'r')
ROLE(in_environment, 'r')
#ifdef __GLIBC__
ROLE(on_running_coroutine, 'r')
ROLE(on_other_coroutine, 'r')
ROLE(on_left_stack, 'r')
ROLE(of_joined, 'd')
ROLE(in_result, 'r')
ROLE(in_argument, 'r')
ROLE(local_of_ended, 'd')
ROLE(key_of_joined, 'd')
#endif
ROLE(in_frame_of_main_that_ended, 'd')

static sem_t there;
static pthread_key_t keys[KEYS];
static __thread void *volatile local;
static void (*hold)(void *block);

/* What frames and registers held before is gone. */
static __attribute__((noinline)) void scrub(void)
{
	volatile char below[32768];
	for (size_t i = 0; i < sizeof(below); i++)
		below[i] = 0;
#ifdef __x86_64__
	__asm__ volatile("xor %%eax, %%eax\n\txor %%ecx, %%ecx\n\txor %%edx, %%edx\n\t"
			 "xor %%esi, %%esi\n\txor %%edi, %%edi\n\txor %%r8d, %%r8d\n\t"
			 "xor %%r9d, %%r9d\n\txor %%r10d, %%r10d\n\txor %%r11d, %%r11d"
			 :
			 :
			 : "rax", "rcx", "rdx", "rsi", "rdi", "r8", "r9", "r10", "r11", "cc");
#endif
}

static __attribute__((noinline, noreturn)) void park(void)
{
	scrub();
	sem_post(&there);
	for (;;)
		pause();
}

static __attribute__((noinline)) void put_into_key(unsigned key, void *(*role)(size_t))
{
	pthread_setspecific(keys[key], role(200));
}

static __attribute__((noinline)) void put_below(void)
{
	void *volatile below[100];
	for (unsigned i = 0; i < 100; i++)
		below[i] = NULL;
	below[50] = below_frame(216);
	(void)below[0];
}

/* Deeper than what is scrubbed. */
static __attribute__((noinline)) void dig(void)
{
	volatile char deep[100000];
	deep[0] = 1;
	put_below();
	(void)deep[0];
}

static void *on_given_stack(void *unused)
{
	void *volatile mine[4] = {in_frame(232)};
	put_into_key(1, in_first_key);
	put_into_key(KEYS - 1, in_late_key);
	local = in_static_storage(248);
	if (hold)
		hold(in_static_storage(264));
	dig();
	(void)mine[0];
	(void)unused;
	park();
}

static char *map(size_t bytes)
{
	char *at = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (at == MAP_FAILED)
		abort();
	return at;
}

static void start(void *stack, size_t bytes, void *(*run)(void *))
{
	pthread_attr_t attributes;
	pthread_t thread;
	pthread_attr_init(&attributes);
	if (stack && pthread_attr_setstack(&attributes, stack, bytes))
		abort();
	if (pthread_create(&thread, &attributes, run, NULL))
		abort();
	while (sem_wait(&there))
		;
}

/* A thread's descriptor stands in the middle of pages, and over their bounds, on stacks that the
 * program has mapped with other memory of its own before and after. */
static __attribute__((noinline)) void start_on_given(unsigned after_page)
{
	char *memory = map(STACK + 4 * PAGE);
	void *beside = beside_stack(280);
	memcpy(memory, &beside, sizeof(beside));
	start(memory + PAGE, STACK + after_page, on_given_stack);
	beside = beside_stack(280);
	memcpy(memory + STACK + 3 * PAGE, &beside, sizeof(beside));
}

static void handle(int number)
{
	void *volatile mine[4] = {in_handler(296)};
	(void)number;
	(void)mine[0];
	park();
}

static void *on_signal_stack(void *unused)
{
	void *volatile mine[4] = {in_interrupted(312)};
	stack_t other = {.ss_sp = map(STACK), .ss_size = STACK};
	sigaltstack(&other, NULL);
	raise(SIGUSR1);
	(void)mine[0];
	return unused;
}

#ifdef __GLIBC__
static ucontext_t left, other, running;

static void wait_aside(void)
{
	void *volatile mine[4] = {on_other_coroutine(328)};
	swapcontext(&other, &left);
	(void)mine[0];
}

static void stay(void)
{
	void *volatile mine[4] = {on_running_coroutine(344)};
	(void)mine[0];
	park();
}

static void prepare(ucontext_t *context, char *stack, void (*run)(void))
{
	getcontext(context);
	context->uc_stack.ss_sp = stack;
	context->uc_stack.ss_size = STACK;
	context->uc_link = NULL;
	makecontext(context, run, 0);
}

/* Two stacks in one mapping, with one page below them that nobody may touch. */
static void *run_coroutines(void *unused)
{
	void *volatile mine[4] = {on_left_stack(360)};
	char *memory = map(PAGE + 2 * STACK);
	mprotect(memory, PAGE, PROT_NONE);
	prepare(&other, memory + PAGE, wait_aside);
	prepare(&running, memory + PAGE + STACK, stay);
	swapcontext(&left, &other);
	swapcontext(&left, &running);
	(void)mine[0];
	return unused;
}

static void *end_joined(void *unused)
{
	void *volatile mine[4] = {of_joined(376)};
	local = of_joined(376);
	put_into_key(1, key_of_joined);
	put_into_key(KEYS - 1, key_of_joined);
	(void)mine[0];
	return unused;
}

static pid_t number_of_ended;

static void *end_unjoined(void *unused)
{
	(void)unused;
	local = local_of_ended(392);
	void *result = in_result(408);
	__atomic_store_n(&number_of_ended, (pid_t)syscall(SYS_gettid), __ATOMIC_RELEASE);
	return result;
}

static __attribute__((noinline)) void start_ending(void)
{
	pthread_t thread;
	pid_t number;
	if (pthread_create(&thread, NULL, end_unjoined, in_argument(424)))
		abort();
	while (!(number = __atomic_load_n(&number_of_ended, __ATOMIC_ACQUIRE)) ||
		!syscall(SYS_tgkill, getpid(), number, 0))
		sched_yield();
	/* On a stack of another size: libc has another one for the next thread. */
	pthread_attr_t attributes;
	pthread_attr_init(&attributes);
	pthread_attr_setstacksize(&attributes, 4 * STACK);
	if (pthread_create(&thread, &attributes, end_joined, NULL) || pthread_join(thread, NULL))
		abort();
}
#endif

extern char **environ;

/* The list itself is still the kernel's, on the first thread's stack. */
static __attribute__((noinline)) void put_into_environment(void)
{
	char *text = in_environment(440);
	memcpy(text, "ROOTS=1", 8);
	for (char **at = environ; *at; at++) {
		if (!strncmp(*at, "ROOTS=", 6))
			*at = text;
	}
}

static __attribute__((noinline)) void put_into_read_only(void)
{
	char *memory = map(PAGE);
	void *block = in_read_only(456);
	memcpy(memory + 160, &block, sizeof(block));
	mprotect(memory, PAGE, PROT_READ);
}

static __attribute__((noinline)) void load(void)
{
	const char *library = getenv("LIBRARY");
	void *loaded = library ? dlopen(library, RTLD_NOW) : NULL;
	hold = loaded ? (void (*)(void *))dlsym(loaded, "hold") : NULL;
	if (library && !hold)
		abort();
	if (hold)
		hold(in_static_storage(264));
}

static __attribute__((noinline)) void do_all(void)
{
	struct sigaction action = {.sa_handler = handle, .sa_flags = SA_ONSTACK};
	for (unsigned i = 0; i < KEYS; i++)
		pthread_key_create(&keys[i], NULL);
	load();
	put_into_environment();
	put_into_read_only();
#ifdef __GLIBC__
	start_ending();
#endif
	/* The descriptor begins at different places of its page, and goes on into the next. */
	for (unsigned after_page = 0; after_page < PAGE; after_page += 1360)
		start_on_given(after_page);
	sigaction(SIGUSR1, &action, NULL);
	start(NULL, 0, on_signal_stack);
#ifdef __GLIBC__
	start(NULL, 0, run_coroutines);
#endif
}

static char state_of_first(void)
{
	char path[64], text[512];
	snprintf(path, sizeof(path), "/proc/self/task/%d/stat", (int)getpid());
	int file = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n = file < 0 ? -1 : read(file, text, sizeof(text) - 1);
	if (n < 0)
		abort();
	text[n] = 0;
	close(file);
	return strrchr(text, ')')[2];
}

static void *end_later(void *unused)
{
	while (state_of_first() != 'Z')
		sched_yield();
	scrub();
	account_end();
	return unused;
}

int main(int argc, char **argv)
{
	account_open(argc, argv);
	sem_init(&there, 0, 0);
	do_all();
	scrub();
	if (getenv("MAIN_ENDS")) {
		pthread_t thread;
		void *volatile mine[4] = {in_frame_of_main_that_ended(472)};
		if (pthread_create(&thread, NULL, end_later, NULL))
			abort();
		(void)mine[0];
		pthread_exit(NULL);
	}
	account_end();
	return 0;
}
