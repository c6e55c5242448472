/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Programs without memory errors that an allocator with fault handlers could harm: each prints what
 * comes of it, which is the same with and without. With `bad` in place of nothing an error is made
 * in the same circumstances, and is announced (wrongs.h).
 */
#include "wrongs.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <malloc.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <spawn.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

static sigjmp_buf jump;
static volatile sig_atomic_t caught;
static void *volatile caught_at;
static volatile bool on_alternate;
static char alternate[1 << 16];

static void make_error(bool good)
{
	char *p = malloc(48);
	if (!good) {
		expect("InvalidWrite", 0, "after", 48);
		bytes_of(p)[48] = 1;
	}
	free(p);
}

static void jump_out(int number)
{
	caught = number;
	siglongjmp(jump, 1);
}

static void jump_out_with_facts(int number, siginfo_t *info, void *context)
{
	char here;
	(void)context;
	caught = number;
	caught_at = info->si_addr;
	on_alternate = (uintptr_t)hide(&here) - (uintptr_t)alternate < sizeof(alternate);
	siglongjmp(jump, 1);
}

static void set_action(int number, void (*handler)(int, siginfo_t *, void *), int flags)
{
	struct sigaction action = {.sa_sigaction = handler, .sa_flags = SA_SIGINFO | flags};
	sigaction(number, &action, NULL);
}

static void touch_null(void)
{
	caught_at = (void *)1;
	if (!sigsetjmp(jump, 1))
		*(volatile int *)hide((void *)24) = 1;
	printf("caught %d at %p, alternate stack %d\n", (int)caught, caught_at, on_alternate);
}

static void own_handler(bool good)
{
	stack_t stack = {.ss_sp = alternate, .ss_size = sizeof(alternate)};
	set_action(SIGSEGV, jump_out_with_facts, 0);
	touch_null();
	make_error(good);
	touch_null();
	sigaltstack(&stack, NULL);
	touch_null();
	set_action(SIGSEGV, jump_out_with_facts, SA_ONSTACK);
	touch_null();
	make_error(good);
	touch_null();
	free(malloc(10));
}

/* What the program sets is what it gets back. */
static void own_settings(bool good)
{
	struct sigaction action = {.sa_handler = jump_out, .sa_flags = SA_NODEFER | SA_RESTART},
			 old;
	sigaddset(&action.sa_mask, SIGUSR1);
	sigaddset(&action.sa_mask, SIGBUS);
	printf("%d", sigaction(SIGSEGV, NULL, &old));
	printf(" %d %d\n", old.sa_handler == SIG_DFL, old.sa_flags);
	sigaction(SIGSEGV, &action, &old);
	printf("%d\n", old.sa_handler == SIG_DFL);
	sigaction(SIGSEGV, NULL, &old);
	printf("%d %x %d %d %d\n", old.sa_handler == jump_out, old.sa_flags,
		sigismember(&old.sa_mask, SIGUSR1), sigismember(&old.sa_mask, SIGBUS),
		sigismember(&old.sa_mask, SIGUSR2));
	printf("%d\n", signal(SIGSEGV, SIG_IGN) == jump_out);
	printf("%d\n", signal(SIGSEGV, SIG_DFL) == SIG_IGN);
	sigaction(SIGUSR1, &action, NULL);
	sigaction(SIGUSR1, NULL, &old);
	printf("%d\n", sigismember(&old.sa_mask, SIGBUS));
	printf("%d %d\n", sigaction(SIGKILL, &action, NULL), errno);
	printf("%d %d\n", sigaction(77, &action, NULL), errno);
	make_error(good);
}

static void masks(bool good)
{
	sigset_t all, old, now;
	sigfillset(&all);
	pthread_sigmask(SIG_BLOCK, &all, &old);
	pthread_sigmask(SIG_SETMASK, NULL, &now);
	printf("%d%d %d%d%d %d\n", sigismember(&old, SIGSEGV), sigismember(&old, SIGUSR1),
		sigismember(&now, SIGSEGV), sigismember(&now, SIGBUS), sigismember(&now, SIGUSR1),
		sigismember(&now, SIGKILL));
	make_error(good);
	signal(SIGSEGV, jump_out);
	caught = 0;
	if (!sigsetjmp(jump, 0)) {
		raise(SIGSEGV); /* waits */
		printf("caught %d\n", (int)caught);
		sigprocmask(SIG_SETMASK, &old, NULL);
		puts("it did not come");
	}
	printf("caught %d\n", (int)caught);
	make_error(good);
}

/* In children, as these ways lead to an end. */
static void report_child(const char *what, void (*function)(void))
{
	int status = 0;
	fflush(stdout);
	pid_t child = fork();
	if (!child) {
		function();
		_exit(3);
	}
	waitpid(child, &status, 0);
	printf("%s: %x\n", what, status & ~0x80);
}

static void end_null(void)
{
	*(volatile int *)hide((void *)24) = 1;
}

static void end_raise(void)
{
	raise(SIGBUS);
}

static void end_ignored_fault(void)
{
	signal(SIGSEGV, SIG_IGN);
	end_null();
}

static void survive_ignored(void)
{
	signal(SIGSEGV, SIG_IGN);
	raise(SIGSEGV);
	kill(getpid(), SIGSEGV);
}

static void fault_again(int number)
{
	(void)number;
	end_null();
}

static void end_in_handler(void)
{
	signal(SIGSEGV, fault_again);
	end_null();
}

static void note_signal(int number)
{
	caught = number;
	signal(SIGSEGV, SIG_DFL);
}

static void end_after_handler(void)
{
	signal(SIGSEGV, note_signal);
	end_null(); /* again, after the handler */
}

static void end_reset(void)
{
	struct sigaction action = {.sa_handler = jump_out, .sa_flags = (int)SA_RESETHAND};
	sigaction(SIGSEGV, &action, NULL);
	if (!sigsetjmp(jump, 1))
		end_null();
	sigaction(SIGSEGV, NULL, &action);
	if (action.sa_handler == SIG_DFL)
		end_null();
}

static void end_wild(void)
{
	*(volatile int *)hide((void *)0x4141414141414141) = 1;
}

static void end_abort(void)
{
	free(malloc(10));
	abort();
}

static void ends(bool good)
{
	expect_kind("InvalidWrite");
	report_child("null", end_null);
	report_child("raise", end_raise);
	expect_kind("InvalidWrite");
	report_child("ignored fault", end_ignored_fault);
	report_child("ignored", survive_ignored);
	report_child("in handler", end_in_handler); /* blocked: it ends without a word */
	expect_kind("InvalidWrite");
	report_child("after handler", end_after_handler);
	expect_kind("InvalidWrite");
	report_child("reset", end_reset);
	expect_kind("InvalidWrite");
	report_child("wild", end_wild);
	report_child("abort", end_abort);
	make_error(good);
}

/* --- threads --- */

#define HAMMERS 8
#define HAMMER_BLOCKS 200

/* How often what goes wrong by chance is done: less often where tests should not take long. */
static int rounds(int many)
{
	return getenv("HW_TEST_LONG") ? many : many / 3;
}

struct hammer_block {
	unsigned char *p;
	size_t bytes;
	unsigned char value;
};

static bool is_whole(const struct hammer_block *b)
{
	for (size_t i = 0; i < b->bytes; i++)
		if (b->p[i] != b->value)
			return false;
	return true;
}

static void *hammer_heap(void *argument)
{
	unsigned seed = (unsigned)(uintptr_t)argument;
	struct hammer_block blocks[HAMMER_BLOCKS] = {{0}};
	size_t wrong = 0;
	for (int i = rounds(20000); i > 0; i--) {
		struct hammer_block *b = &blocks[rand_r(&seed) % HAMMER_BLOCKS];
		wrong += !is_whole(b);
		size_t bytes = (size_t)rand_r(&seed) % (rand_r(&seed) % 50 ? 300 : 20000);
		b->value = (unsigned char)rand_r(&seed);
		if (b->p && rand_r(&seed) % 3) {
			free(b->p);
			b->p = calloc(1, bytes + 1);
		} else {
			b->p = realloc(b->p, bytes + 1);
		}
		b->bytes = bytes;
		memset(b->p, b->value, bytes);
	}
	for (int i = 0; i < HAMMER_BLOCKS; i++)
		free(blocks[i].p);
	return (void *)wrong;
}

static void run_threads(int count, void *(*function)(void *))
{
	pthread_t threads[HAMMERS];
	for (int i = 0; i < count; i++)
		pthread_create(&threads[i], NULL, function, (void *)(uintptr_t)(i + 1));
	for (int i = 0; i < count; i++) {
		void *result;
		pthread_join(threads[i], &result);
		printf("%zu ", (size_t)result);
	}
	puts("wrong");
}

static void threads(bool good)
{
	run_threads(HAMMERS, hammer_heap);
	make_error(good);
}

static pthread_key_t key;

static void free_at_end(void *p)
{
	static __thread int rounds;
	free(p);
	if (rounds++ < 2)
		pthread_setspecific(key, malloc(33));
}

static void *use_key(void *argument)
{
	pthread_setspecific(key, malloc(100));
	(void)argument;
	return NULL;
}

static void thread_ends(bool good)
{
	pthread_key_create(&key, free_at_end);
	for (int i = 0; i < 200; i++) {
		pthread_t thread;
		pthread_create(&thread, NULL, use_key, NULL);
		pthread_join(thread, NULL);
	}
	make_error(good);
}

static volatile bool forks_over;

static void *allocate_on(void *argument)
{
	while (!forks_over)
		free(hide(malloc((uintptr_t)argument * 100)));
	return NULL;
}

static void *fork_on(void *argument)
{
	size_t wrong = 0;
	for (int i = rounds(25); i > 0; i--) {
		pid_t child = fork();
		if (!child) {
			for (int n = 0; n < 1000; n++)
				free(hide(malloc((size_t)n)));
			_exit(0);
		}
		int status = -1;
		waitpid(child, &status, 0);
		wrong += status != 0;
	}
	(void)argument;
	return (void *)wrong;
}

static void forks(bool good)
{
	pthread_t thread;
	pthread_create(&thread, NULL, allocate_on, (void *)3);
	run_threads(4, fork_on);
	forks_over = true;
	pthread_join(thread, NULL);
	make_error(good);
}

/* --- limits --- */

static void fill_limit(rlim_t bytes)
{
	struct rlimit limit = {bytes, bytes};
	void *blocks[64];
	int n = 0;
	setrlimit(RLIMIT_AS, &limit);
	while (n < 64 && (blocks[n] = malloc(16 << 20)))
		n++;
	printf("%d\n", n > 64 * 3 / 5 ? -1 : n < (int)(bytes >> 24) * 3 / 5 ? n : 1);
	while (n)
		free(blocks[--n]);
	void *p = malloc(1000);
	printf("%d\n", p != NULL);
	free(p);
}

static void own_limit(bool good)
{
	fill_limit(512u << 20);
	(void)good;
}

/* Run by itself again, under the limit. */
static void limited(bool good)
{
	struct rlimit limit = {512u << 20, 512u << 20};
	setrlimit(RLIMIT_AS, &limit);
	fflush(stdout);
	execl("/proc/self/exe", "hostile", "own_limit", good ? "good" : NULL, NULL);
	puts("no exec");
}

static void locked(bool good)
{
	char *before[100];
	for (int i = 0; i < 100; i++)
		before[i] = malloc((size_t)i * 50);
	printf("%d\n", mlockall(MCL_CURRENT | MCL_FUTURE));
	for (int i = 0; i < 100; i++)
		free(before[i]);
	for (int i = 0; i < 1000; i++)
		free(hide(malloc((size_t)i)));
	(void)good;
}

/* From now on madvise, userfaultfd and ioctl end so; mprotect too, if `all`. */
static bool forbid_calls(unsigned action, bool all)
{
	unsigned last = all ? SYS_mprotect : SYS_madvise;
	struct sock_filter rules[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_madvise, 4, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_userfaultfd, 3, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_ioctl, 2, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, last, 1, 0),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
		BPF_STMT(BPF_RET | BPF_K, action),
	};
	struct sock_fprog program = {sizeof(rules) / sizeof(*rules), rules};
	return !prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) &&
	       !prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0);
}

/* Deadly, and without a word to the library. */
static void confined(bool good)
{
	char *before[100];
	size_t sizes[100], differ = 0;
	for (size_t i = 0; i < 100; i++) {
		sizes[i] = i * 50;
		before[i] = malloc(sizes[i]);
		memset(before[i], (int)i, sizes[i]);
	}
	fflush(stdout);
	printf("%d\n", forbid_calls(SECCOMP_RET_KILL_PROCESS, true));
	for (size_t round = 0; round < 4; round++) { /* larger and smaller */
		for (size_t i = 1; i < 100; i++) {
			static const size_t parts[] = {3, 1, 2, 4};
			size_t size = i * 25 * parts[round],
			       kept = size < sizes[i] ? size : sizes[i];
			before[i] = realloc(before[i], size);
			for (size_t at = 0; at < kept; at++)
				differ += before[i][at] != (char)i;
			memset(before[i], (int)i, size);
			sizes[i] = size;
		}
	}
	printf("%zu bytes differ\n", differ);
	for (int i = 0; i < 100; i++)
		free(before[i]);
	for (int i = 0; i < 1000; i++)
		free(hide(malloc((size_t)i)));
	(void)good;
}

/* Questions whether filters are known, and null pointers, which the kernel refuses. */
static void asked(bool good)
{
	int failed = prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, hide(NULL), 0, 0);
	printf("%d %d", failed, errno == EFAULT);
	failed = (int)syscall(SYS_prctl, PR_SET_SECCOMP, SECCOMP_MODE_FILTER, NULL, 0, 0);
	printf(" %d %d", failed, errno == EFAULT);
	failed = (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, NULL);
	printf(" %d %d", failed, errno == EFAULT);
	failed = (int)readv(0, hide(NULL), 1);
	printf(" %d %d", failed, errno == EFAULT || errno == EINVAL);
	int pair[2];
	failed = socketpair(AF_UNIX, SOCK_DGRAM, 0, pair);
	failed |= sendmsg(pair[0], hide(NULL), 0) != -1 || errno != EFAULT;
	failed |= recvmsg(pair[1], hide(NULL), MSG_DONTWAIT) != -1 || errno != EFAULT;
	/* Addresses that no one has: the kernel refuses them, and so it does of arrays and heads.
	 */
	failed |= readv(pair[1], hide((void *)8), 1) != -1 || errno != EFAULT;
	failed |= sendmsg(pair[0], hide((void *)8), 0) != -1 || errno != EFAULT;
	failed |=
		recvmmsg(pair[1], hide((void *)8), 1, MSG_DONTWAIT, NULL) != -1 || errno != EFAULT;
	printf(" %d\n", failed);
	make_error(good);
}

/* As in containers: the program starts where these system calls fail. */
static void refused(bool good)
{
	printf("%d\n", forbid_calls(SECCOMP_RET_ERRNO | EPERM, false));
	fflush(stdout);
	execl("/proc/self/exe", "hostile", "chains", good ? "good" : NULL, NULL);
	puts("no exec");
}

static void libraries(bool good)
{
	for (int i = 0; i < 20; i++) {
		void *library = dlopen("libutil.so.1", RTLD_NOW),
		     *other = dlopen("libresolv.so.2", RTLD_NOW);
		printf("%d", library && other);
		dlclose(other);
		dlclose(library);
		printf("%d", dlopen("libno-such.so", RTLD_NOW) == NULL);
		printf("%d", dlerror() != NULL);
	}
	puts("");
	make_error(good);
}

/* --- processes --- */

extern char **environ;

static void processes(bool good)
{
	char *arguments[] = {"echo", "spawned", NULL};
	int status = -1;
	fflush(stdout);
	pid_t child = vfork();
	if (!child) {
		execl("/bin/echo", "echo", "vforked", NULL);
		_exit(1);
	}
	waitpid(child, &status, 0);
	printf("%d\n", status);
	fflush(stdout);
	posix_spawn(&child, "/bin/echo", NULL, NULL, arguments, environ);
	waitpid(child, &status, 0);
	printf("%d %d\n", status, system("exit 5"));
	make_error(good);
}

static void *left;

static void free_left(void)
{
	free(left);
}

static void zero_and_end(bool good)
{
	void *p = malloc(0), *q = malloc(0);
	printf("%d %d\n", p && q, p != q);
	p = realloc(p, 20);
	free(q);
	q = realloc(NULL, 0);
	free(q);
	free(NULL);
	free(p);
	errno = 5;
	free(malloc(100000));
	free(malloc(100));
	printf("%d\n", errno);
	printf("%d", malloc(1ul << 46) == NULL);
	printf(" %d\n", errno == ENOMEM);
	left = malloc(10);
	atexit(free_left);
	(void)good;
}

static void chains(bool good)
{
	unsigned char *p = NULL;
	size_t wrong = 0, bytes = 0;
	for (size_t n = 1; n < 3000000; n = n * 5 / 3 + 1) {
		p = realloc(p, n);
		for (size_t i = 0; i < bytes; i++)
			wrong += p[i] != (unsigned char)i;
		for (bytes = 0; bytes < n; bytes++)
			p[bytes] = (unsigned char)bytes;
	}
	while (bytes > 1) {
		p = realloc(p, bytes = bytes * 2 / 3);
		for (size_t i = 0; i < bytes; i++)
			wrong += p[i] != (unsigned char)i;
	}
	free(p);
	printf("%zu\n", wrong);
	make_error(good);
}

/* --- pages of blocks that the program changes itself --- */

#define PAGES 8192u

static char *volatile protected_block;

static void unprotect(int number, siginfo_t *info, void *context)
{
	(void)context;
	caught = number;
	mprotect(protected_block, PAGES, PROT_READ | PROT_WRITE);
	caught_at = (void *)((char *)info->si_addr - protected_block);
}

/* As collectors of garbage do: memory is given back and used again, or protected to notice writes.
 */
static void own_pages(bool good)
{
	char *p = hide(memalign(4096, PAGES)), *q = hide(memalign(4096, PAGES));
	memset(p, 7, PAGES);
	printf("%d\n", madvise(p, PAGES, MADV_DONTNEED));
	printf("%d %d\n", p[10], p[5000]);
	memset(p, 8, PAGES);
	madvise(p, PAGES, MADV_DONTNEED);
	int zero = open("/dev/zero", O_RDONLY);
	printf("%zd\n", read(zero, p, PAGES));
	memset(p, 9, PAGES);
	printf("%d\n", madvise(p, PAGES, MADV_FREE));
	madvise(p, PAGES, MADV_PAGEOUT); /* what is free goes at once */
	printf("%zd\n", read(zero, p, PAGES));
	madvise(p, PAGES, MADV_DONTNEED);
	strcpy(p + 4090, "over both");
	printf("%s\n", p + 4090);
	close(zero);
	set_action(SIGSEGV, unprotect, 0);
	protected_block = q;
	memset(q, 1, PAGES);
	mprotect(q, PAGES, PROT_READ);
	bytes_of(q)[4100] = 3;
	printf("%d %p %d\n", (int)caught, caught_at, q[4100]);
	mprotect(q, PAGES, PROT_NONE);
	printf("%d\n", bytes_of(q)[4100]);
	free(q);
	free(p);
	signal(SIGSEGV, SIG_DFL);
	make_error(good);
}

/* --- single steps --- */

static volatile int traps;

static void count_trap(int number)
{
	(void)number;
	traps++;
}

/* Some instructions with the trap flag. */
static void step_some(void)
{
	__asm__ volatile("sub $128, %%rsp\n\t"
			 "pushf\n\torl $0x100, (%%rsp)\n\tpopf\n\t"
			 "nop\n\tnop\n\tnop\n\t"
			 "pushf\n\tandl $~0x100, (%%rsp)\n\tpopf\n\t"
			 "add $128, %%rsp" ::
				 : "memory", "cc");
}

static void own_traps(bool good)
{
	sigset_t set, old;
	struct sigaction action;
	make_error(good);
	signal(SIGTRAP, count_trap);
	sigaction(SIGTRAP, NULL, &action);
	printf("%d %x\n", action.sa_handler == count_trap, action.sa_flags);
	__asm__ volatile("int3");
	raise(SIGTRAP);
	step_some();
	printf("%d\n", traps);
	make_error(good);
	step_some();
	__asm__ volatile("int3");
	printf("%d\n", traps);
	sigemptyset(&set);
	sigaddset(&set, SIGTRAP);
	pthread_sigmask(SIG_BLOCK, &set, &old);
	make_error(good);
	raise(SIGTRAP);
	printf("%d\n", traps);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	printf("%d\n", traps);
	signal(SIGTRAP, SIG_IGN);
	make_error(good);
	raise(SIGTRAP);
	signal(SIGTRAP, SIG_DFL);
	make_error(good);
}

static void end_by_int3(void)
{
	make_error(caught == 77);
	__asm__ volatile("int3");
}

static void end_by_sigtrap(void)
{
	make_error(caught == 77);
	raise(SIGTRAP);
}

static void trap_ends(bool good)
{
	caught = good ? 77 : 0;
	report_child("int3", end_by_int3);
	report_child("SIGTRAP", end_by_sigtrap);
}

/* The thread is interrupted in between, again and again, by handlers that make errors themselves.
 */
static volatile char *shared_block;
static volatile bool is_good;

static void make_more_errors(int number)
{
	(void)number;
	traps++;
	shared_block[is_good ? 1 : 64] = 1;
}

static void *interrupt_on(void *thread)
{
	while (!forks_over)
		pthread_kill((pthread_t)thread, SIGUSR1);
	return NULL;
}

static void interrupted(bool good)
{
	pthread_t thread;
	is_good = good;
	shared_block = bytes_of(malloc(64));
	if (!good) {
		expect("InvalidWrite", 0, "after", 64);
		expect("InvalidRead", 2, "after", 64);
	}
	signal(SIGUSR1, make_more_errors);
	pthread_create(&thread, NULL, interrupt_on, (void *)pthread_self());
	while (traps < 200)
		(void)shared_block[good ? 2 : 66];
	forks_over = true;
	pthread_join(thread, NULL);
	puts("enough");
}

/* Threads that make the same errors at the same page at the same time. */
static void *make_same_errors(void *argument)
{
	(void)argument;
	for (int i = 0; i < 1000; i++) {
		shared_block[is_good ? 1 : 64] = 1;
		(void)shared_block[is_good ? 2 : 66];
	}
	return NULL;
}

static void same_errors(bool good)
{
	is_good = good;
	shared_block = bytes_of(malloc(64));
	if (!good) {
		expect("InvalidWrite", 0, "after", 64);
		expect("InvalidRead", 2, "after", 64);
	}
	run_threads(HAMMERS, make_same_errors);
}

static void jump_into_block(void)
{
	((void (*)(void))hide(protected_block))();
}

/* Memory of blocks is not executable, with or without. */
static void jumped(bool good)
{
	protected_block = malloc(64);
	if (!good)
		printf("expect InvalidJump 0 inside 64\n");
	else
		expect_kind("InvalidWrite");
	report_child("jump", good ? end_null : jump_into_block);
	free(protected_block);
	if (!good)
		expect_freed("InvalidJump", 0, 64);
	else
		expect_kind("InvalidWrite");
	report_child("jump", good ? end_null : jump_into_block);
}

/* Nothing is allocated, and no handler of the program's end runs. */
static void killed(bool good)
{
	raise(SIGKILL);
	(void)good;
}

static void killed_in_child(bool good)
{
	if (!fork())
		raise(SIGKILL);
	wait(NULL);
	raise(SIGKILL);
	(void)good;
}

static const struct story stories[] = {{"own_handler", own_handler}, {"own_settings", own_settings},
	{"masks", masks}, {"ends", ends}, {"threads", threads}, {"thread_ends", thread_ends},
	{"forks", forks}, {"own_limit", own_limit}, {"limited", limited}, {"locked", locked},
	{"confined", confined}, {"asked", asked}, {"refused", refused}, {"libraries", libraries},
	{"processes", processes}, {"zero_and_end", zero_and_end}, {"chains", chains},
	{"own_pages", own_pages}, {"own_traps", own_traps}, {"trap_ends", trap_ends},
	{"interrupted", interrupted}, {"same_errors", same_errors}, {"jumped", jumped},
	{"killed", killed}, {"killed_in_child", killed_in_child}, {NULL, NULL}};

int main(int argc, char **argv)
{
	return tell_story(argc, argv, stories);
}
