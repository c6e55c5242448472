/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A program that is searched for leaks while it does something that a search could harm:
 *
 *	searched WHAT [NUMBER]
 *
 * Says "ready PID", goes on until its standard input ends or says something, looks whether it was
 * harmed ("broken: …", status 9) and ends with status 7. It loses one block of 1234 bytes.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/io_uring.h>
#include <linux/seccomp.h>
#include <linux/userfaultfd.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static int number;

__attribute__((noreturn)) static void broken(const char *what)
{
	printf("broken: %s (%s)\n", what, strerror(errno));
	fflush(stdout);
	_exit(9);
}

static void need(int holds, const char *what)
{
	if (!holds)
		broken(what);
}

static void ready(void)
{
	printf("ready %d\n", (int)getpid());
	fflush(stdout);
}

__attribute__((noreturn)) static void skip(void)
{
	printf("skipped\n");
	exit(7);
}

static void use_heap(size_t bytes)
{
	void *volatile block = malloc(bytes);
	free(block);
}

static void wait_for_word(void)
{
	char byte;
	need(read(STDIN_FILENO, &byte, 1) >= 0, "read was interrupted");
}

static int is_told(void)
{
	struct pollfd fd = {.fd = STDIN_FILENO, .events = POLLIN};
	return poll(&fd, 1, 0) > 0;
}

/* There is no child but those that the program made and waited for. */
static void need_no_child(void)
{
	errno = 0;
	need(waitpid(-1, NULL, WNOHANG) == -1 && errno == ECHILD, "there is a child");
}

static void idle(void)
{
	ready();
	wait_for_word();
}

/* --- threads -----------------------------------------------------------------------------------
 */

static void *wait_in_thread(void *argument)
{
	pthread_barrier_t *barrier = argument;
	void *volatile mine = malloc(16);
	pthread_barrier_wait(barrier);
	pthread_barrier_wait(barrier);
	free(mine);
	return NULL;
}

static void threads(void)
{
	pthread_t *all = calloc((size_t)number, sizeof(*all));
	static pthread_barrier_t barrier;
	pthread_barrier_init(&barrier, NULL, (unsigned)number + 1);
	for (int i = 0; i < number; i++)
		need(!pthread_create(&all[i], NULL, wait_in_thread, &barrier), "pthread_create");
	pthread_barrier_wait(&barrier);
	idle();
	pthread_barrier_wait(&barrier);
	for (int i = 0; i < number; i++)
		pthread_join(all[i], NULL);
	free(all);
}

static void *allocate(void *argument)
{
	for (int i = 0; i < 50; i++)
		use_heap(64 + (size_t)i);
	return argument;
}

/* Threads begin and end all the time. */
static void churn(void)
{
	ready();
	while (!is_told()) {
		pthread_t some[4];
		int told[4];
		for (int i = 0; i < 4; i++)
			need(!pthread_create(&some[i], NULL, allocate, &told[i]), "pthread_create");
		for (int i = 0; i < 4; i++) {
			void *result;
			need(!pthread_join(some[i], &result) && result == &told[i], "pthread_join");
		}
	}
}

static void *run_on(void *argument)
{
	volatile uint64_t *count = argument;
	while (!count[1])
		count[0]++;
	return NULL;
}

/* No thread is ever in a system call but the one that waits; that one is in one always. */
static void busy(void)
{
	static volatile uint64_t counts[2];
	pthread_t thread;
	pthread_create(&thread, NULL, run_on, (void *)counts);
	idle();
	counts[1] = 1;
	pthread_join(thread, NULL);
}

/* The only thread computes, all its registers in use. */
static void compute(void)
{
	ready();
	double sum = 0;
	uint64_t hash = 1, rounds = 0;
	while (rounds % 1000000 || !is_told()) {
		hash = hash * 6364136223846793005u + 1442695040888963407u;
		sum += (double)(hash >> 40) * 1e-9;
		rounds++;
	}
	double again = 0;
	uint64_t same = 1;
	for (uint64_t i = 0; i < rounds; i++) {
		same = same * 6364136223846793005u + 1442695040888963407u;
		again += (double)(same >> 40) * 1e-9;
	}
	need(same == hash && again == sum, "the sum is another");
}

static void *leave_later(void *argument)
{
	pthread_join(*(pthread_t *)argument, NULL);
	idle();
	need_no_child();
	exit(7);
}

/* The first thread ends, the program goes on. */
static void leaderless(void)
{
	static pthread_t first;
	pthread_t other;
	first = pthread_self();
	pthread_create(&other, NULL, leave_later, &first);
	pthread_exit(NULL);
}

/* --- signals -----------------------------------------------------------------------------------
 */

static volatile sig_atomic_t seen[65];

static void count(int signal)
{
	seen[signal] = seen[signal] + 1;
}

static void need_handler(int signal, void (*handler)(int))
{
	struct sigaction now;
	sigaction(signal, NULL, &now);
	need(now.sa_handler == handler, "a handler is another");
}

static const int unseen[] = {SIGCONT, SIGTRAP, SIGCHLD, SIGTSTP, SIGURG, SIGUSR1};

static void handlers(void)
{
	for (size_t i = 0; i < sizeof(unseen) / sizeof(unseen[0]); i++)
		signal(unseen[i], count);
	idle();
	for (size_t i = 0; i < sizeof(unseen) / sizeof(unseen[0]); i++) {
		need(!seen[unseen[i]], "a signal came");
		need_handler(unseen[i], count);
	}
}

static void ignored(void)
{
	signal(SIGTRAP, SIG_IGN);
	signal(SIGCHLD, SIG_IGN);
	idle();
	need_handler(SIGTRAP, SIG_IGN);
	need_handler(SIGCHLD, SIG_IGN);
}

static void blocked(void)
{
	sigset_t all, now;
	sigfillset(&all);
	signal(SIGTRAP, count);
	sigprocmask(SIG_SETMASK, &all, NULL);
	sigprocmask(SIG_SETMASK, NULL, &all);
	idle();
	sigprocmask(SIG_SETMASK, NULL, &now);
	need(!memcmp(&all, &now, 8), "the mask is another");
	need_handler(SIGTRAP, count);
	sigpending(&now);
	need(!sigismember(&now, SIGTRAP) && !sigismember(&now, SIGCHLD), "a signal is pending");
}

static volatile sig_atomic_t last, lost, foreign;

static void in_order(int signal, siginfo_t *info, void *context)
{
	(void)signal, (void)context;
	lost = lost + (info->si_value.sival_int != last + 1);
	foreign = foreign + (info->si_pid != getpid() || info->si_code != SI_QUEUE);
	last = info->si_value.sival_int;
}

static void *send_on(void *argument)
{
	volatile int *end = argument;
	for (int i = 1; !*end;) {
		union sigval value = {.sival_int = i};
		i += !sigqueue(getpid(), SIGRTMIN, value);
		sched_yield();
	}
	return NULL;
}

/* Queued signals come all, in order, with their values, while the program is stopped again and
 * again; the thread that takes them computes. */
static void signals(void)
{
	static volatile int end;
	struct sigaction action = {.sa_sigaction = in_order, .sa_flags = SA_SIGINFO | SA_RESTART};
	sigaction(SIGRTMIN, &action, NULL);
	sigset_t set;
	sigemptyset(&set);
	sigaddset(&set, SIGRTMIN);
	sigprocmask(SIG_BLOCK, &set, NULL);
	pthread_t thread;
	pthread_create(&thread, NULL, send_on, (void *)&end);
	sigprocmask(SIG_UNBLOCK, &set, NULL);
	ready();
	while (!is_told()) {
		use_heap(10);
		for (volatile int i = 0; i < 100000; i++)
			; /* it computes, and leaves no endless recording behind */
	}
	end = 1;
	pthread_join(thread, NULL);
	need(last > 100 && !lost, "signals are lost");
	need(!foreign, "signals are another's");
}

/* --- processes ---------------------------------------------------------------------------------
 */

static void parent(void)
{
	int status;
	pid_t child = fork();
	if (!child) {
		use_heap(10); /* it is recorded from here on */
		idle();
		_exit(7);
	}
	need(waitpid(-1, &status, WUNTRACED | WCONTINUED) == child, "waitpid");
	need(WIFEXITED(status) && WEXITSTATUS(status) == 7,
		"the child did something else than end");
}

static void *tick(void *argument)
{
	for (volatile int *end = argument; !*end;)
		use_heap(32);
	return NULL;
}

/* The calling thread waits in the kernel, where it can't be stopped; the other one goes on. */
static void in_vfork(void)
{
	static volatile int end;
	int status;
	pthread_t thread;
	pthread_create(&thread, NULL, tick, (void *)&end);
	ready();
	pid_t child = vfork();
	if (!child) {
		char byte;
		_exit(syscall(SYS_read, STDIN_FILENO, &byte, 1) < 0 ? 6 : 5);
	}
	end = 1;
	pthread_join(thread, NULL);
	need(waitpid(child, &status, 0) == child && WEXITSTATUS(status) == 5, "the vfork child");
}

/* A lock, a pipe and a socket that the program closes are closed at once. */
static void closes(void)
{
	char byte;
	int ends[2], pair[2];
	need(!pipe(ends) && !socketpair(AF_UNIX, SOCK_STREAM, 0, pair), "pipe");
	size_t bytes = (size_t)number << 20;
	char *much = malloc(bytes); /* so that the search takes a while */
	memset(much, 1, bytes);
	ready();
	wait_for_word();
	close(ends[1]);
	close(pair[1]);
	struct pollfd fds[2] = {{.fd = ends[0]}, {.fd = pair[0]}};
	for (int i = 0; i < 2; i++) {
		need(poll(&fds[i], 1, 1000) == 1 && fds[i].revents & POLLHUP, "it is open yet");
		need(!read(fds[i].fd, &byte, 1), "something was read");
	}
	printf("closed\n");
	fflush(stdout);
	free(much);
}

/* --- rights ------------------------------------------------------------------------------------
 */

#define DENY(call)                                                                                 \
	BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_##call, 0, 1),                                     \
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS)

/* A filter that kills for what a search could have the program do. */
static void confined(void)
{
	struct sock_filter filter[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)), DENY(clone),
		DENY(clone3), DENY(fork), DENY(vfork), DENY(wait4), DENY(waitid), DENY(close_range),
		DENY(ptrace), DENY(process_vm_readv), BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
	struct sock_fprog program = {sizeof(filter) / sizeof(filter[0]), filter};
	need(!prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) &&
			!prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program),
		"seccomp");
	ready();
	wait_for_word();
	exit(7); /* wait4 is not allowed any more */
}

static void undumpable(void)
{
	prctl(PR_SET_DUMPABLE, 0);
	idle();
}

/* It may have no more processes. */
static void alone(void)
{
	struct rlimit none = {1, 1};
	need(!setrlimit(RLIMIT_NPROC, &none), "setrlimit");
	need(getuid() == 0 || fork() < 0, "fork is possible");
	idle();
}

/* Its children would be of a namespace whose first process has ended: fork(2) gives ENOMEM. */
static void unforkable(void)
{
	if (unshare(CLONE_NEWPID))
		skip();
	pid_t first = fork();
	if (!first)
		_exit(0);
	need(waitpid(first, NULL, 0) == first, "waitpid");
	need(fork() < 0 && errno == ENOMEM, "fork is possible");
	idle();
}

/* --- memory ------------------------------------------------------------------------------------
 */

static void *map(size_t bytes, int flags)
{
	void *at = mmap(NULL, bytes, PROT_READ | PROT_WRITE, flags, -1, 0);
	need(at != MAP_FAILED, "mmap");
	return at;
}

/* Pages that a forked copy lacks hold the only pointers: 100 blocks each. */
static void unforked(void)
{
	void **lacking = map(4096, MAP_PRIVATE | MAP_ANONYMOUS);
	void **wiped = map(4096, MAP_PRIVATE | MAP_ANONYMOUS);
	need(!madvise(lacking, 4096, MADV_DONTFORK) && !madvise(wiped, 4096, MADV_WIPEONFORK),
		"madvise");
	for (int i = 0; i < 100; i++) {
		lacking[i] = malloc(1001);
		wiped[i] = malloc(1003);
	}
	idle();
}

static uint64_t resident_kb(void)
{
	char line[256];
	unsigned long kb = 0, value;
	FILE *file = fopen("/proc/self/status", "re");
	while (file && fgets(line, sizeof(line), file)) {
		if (sscanf(line, "RssShmem: %lu", &value) == 1 ||
			sscanf(line, "RssAnon: %lu", &value) == 1)
			kb += value;
	}
	if (file)
		fclose(file);
	return kb;
}

static uint64_t allocated_kb(int fd)
{
	uint64_t blocks = 0;
	off_t at = 0;
	for (; (at = lseek(fd, at, SEEK_DATA)) >= 0; at += 4096)
		blocks++;
	return blocks * 4;
}

/* Much memory that nobody has touched stays so, and what stands in the rest is found. */
static void reserved(void)
{
	size_t bytes = (size_t)4 << 30;
	int fd = memfd_create("reserved", MFD_CLOEXEC);
	char *private = map(bytes, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE);
	need(fd >= 0 && !ftruncate(fd, (off_t)bytes), "memfd_create");
	char *shared = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, fd, 0);
	need(shared != MAP_FAILED, "mmap");
	for (int i = 0; i < 8; i++) {
		*(void **)(private + bytes / 8 * (size_t)i + 4096 * 7) = malloc(1001);
		*(void **)(shared + bytes / 8 * (size_t)i + 4096 * 7) = malloc(1003);
	}
	uint64_t before = resident_kb(), stored = allocated_kb(fd);
	idle();
	uint64_t after = resident_kb();
	need(after < before + 8192, "its memory has grown");
	need(allocated_kb(fd) == stored, "its file has grown");
}

/* Memory that faults: of a file that became shorter, or that nobody may touch. */
static void faulty(void)
{
	int fd = memfd_create("faulty", MFD_CLOEXEC);
	size_t bytes = 1 << 20;
	need(fd >= 0 && !ftruncate(fd, (off_t)bytes), "memfd_create");
	char *shared = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	char *copied = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0);
	void **none = map(65536, MAP_PRIVATE | MAP_ANONYMOUS);
	need(shared != MAP_FAILED && copied != MAP_FAILED, "mmap");
	*(void **)shared = malloc(1001);
	*(void **)(shared + bytes - 4096) = malloc(1009);
	none[0] = malloc(1013);
	mprotect(none, 65536, PROT_NONE);
	need(!ftruncate(fd, 8192), "ftruncate");
	idle();
}

/* Pages that come only when somebody gives them: who would is held, too. */
static void unfaulted(void)
{
	int fd = (int)syscall(SYS_userfaultfd, O_CLOEXEC | UFFD_USER_MODE_ONLY);
	struct uffdio_api api = {.api = UFFD_API};
	size_t bytes = 1 << 20;
	char *at = map(bytes, MAP_PRIVATE | MAP_ANONYMOUS);
	at[4096 * 3] = 1;
	struct uffdio_register range = {
		.range = {(uint64_t)at, bytes}, .mode = UFFDIO_REGISTER_MODE_MISSING};
	if (fd < 0 || ioctl(fd, UFFDIO_API, &api) || ioctl(fd, UFFDIO_REGISTER, &range))
		skip();
	idle();
}

/* Huge pages of their own file system hold blocks, before and after. */
static void hugetlb(void)
{
	size_t bytes = (size_t)2 << 20;
	void **at = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
		MAP_PRIVATE | MAP_ANONYMOUS | MAP_HUGETLB, -1, 0);
	if (at == MAP_FAILED)
		skip();
	at[7] = malloc(1001);
	at[bytes / sizeof(*at) - 1] = malloc(1003);
	idle();
	need(at[7] && at[bytes / sizeof(*at) - 1], "memory is lost");
}

static void *map_ring(int ring, size_t bytes, off_t what)
{
	void *at = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, ring, what);
	need(at != MAP_FAILED, "mmap of a ring");
	return at;
}

/* A read that was asked for by io_uring ends as it would have; the block that it reads into is held
 * by what was asked for alone. */
static void ring(void)
{
	struct io_uring_params about = {.flags = 0};
	int fd = (int)syscall(SYS_io_uring_setup, 4, &about), ends[2];
	if (fd < 0)
		skip();
	char *asked = map_ring(
		fd, about.sq_off.array + about.sq_entries * sizeof(uint32_t), IORING_OFF_SQ_RING);
	char *done =
		map_ring(fd, about.cq_off.cqes + about.cq_entries * sizeof(struct io_uring_cqe),
			IORING_OFF_CQ_RING);
	struct io_uring_sqe *entry =
		map_ring(fd, about.sq_entries * sizeof(*entry), IORING_OFF_SQES);
	need(!pipe(ends), "pipe");
	char *volatile into = malloc(1001);
	*entry = (struct io_uring_sqe){.opcode = IORING_OP_READ,
		.fd = ends[0],
		.addr = (uint64_t)into,
		.len = 1,
		.user_data = 77};
	into = NULL;
	((uint32_t *)(asked + about.sq_off.array))[0] = 0;
	__atomic_store_n((uint32_t *)(asked + about.sq_off.tail), 1, __ATOMIC_RELEASE);
	need(syscall(SYS_io_uring_enter, fd, 1, 0, 0, NULL, 0) == 1, "io_uring_enter");
	idle();
	need(write(ends[1], "y", 1) == 1, "write");
	need(syscall(SYS_io_uring_enter, fd, 0, 1, IORING_ENTER_GETEVENTS, NULL, 0) == 0,
		"io_uring_enter");
	const struct io_uring_cqe *answer = (struct io_uring_cqe *)(done + about.cq_off.cqes);
	need(answer->user_data == 77 && answer->res == 1 && *(char *)entry->addr == 'y',
		"the read has another end");
}

/* --- ends --------------------------------------------------------------------------------------
 */

static void aborts(void)
{
	idle();
	abort();
}

static void killed(void)
{
	idle();
	raise(SIGKILL);
}

static void execs(void)
{
	idle();
	execl("/bin/sh", "sh", "-c", "exit 7", (char *)NULL);
	broken("exec");
}

/* Its heap takes a second or so to be searched. */
static void large(void)
{
	size_t count = (size_t)number << 10;
	void **list = NULL;
	for (size_t i = 0; i < count; i++) {
		void **block = malloc(48);
		*block = list;
		list = block;
	}
	idle();
	need(list != NULL, "the list is gone");
}

static void *leave(void *argument)
{
	(void)argument;
	exit(7);
}

/* Another thread than the one that waits ends it. */
static void thread_exits(void)
{
	pthread_t thread;
	idle();
	pthread_create(&thread, NULL, leave, NULL);
	for (;;)
		pause();
}

static const struct {
	const char *name;
	void (*run)(void);
} stories[] = {{"idle", idle}, {"threads", threads}, {"churn", churn}, {"busy", busy},
	{"compute", compute}, {"leaderless", leaderless}, {"handlers", handlers},
	{"ignored", ignored}, {"blocked", blocked}, {"signals", signals}, {"parent", parent},
	{"vfork", in_vfork}, {"closes", closes}, {"confined", confined}, {"undumpable", undumpable},
	{"alone", alone}, {"unforked", unforked}, {"reserved", reserved}, {"unfaulted", unfaulted},
	{"faulty", faulty}, {"aborts", aborts}, {"killed", killed}, {"execs", execs},
	{"unforkable", unforkable}, {"hugetlb", hugetlb}, {"io_uring", ring}, {"large", large},
	{"thread_exits", thread_exits}};

__attribute__((noinline)) static void lose(void)
{
	void *volatile block = malloc(1234);
	block = NULL;
	(void)block;
}

/* What malloc and its hook have left on the stack is no pointer of the program's. How deep that
 * lies depends on the processor: the dynamic linker saves its registers there. */
__attribute__((noinline)) static void scrub(void)
{
	volatile char below[32 << 10];
	for (size_t i = 0; i < sizeof(below); i++)
		below[i] = 0;
}

int main(int argc, char **argv)
{
	static char buffer[4096];
	setvbuf(stdout, buffer, _IOFBF, sizeof(buffer));
	number = argc > 2 ? atoi(argv[2]) : 0;
	lose();
	scrub();
	for (size_t i = 0; i < sizeof(stories) / sizeof(stories[0]); i++) {
		if (argc < 2 || strcmp(argv[1], stories[i].name))
			continue;
		stories[i].run();
		need_no_child();
		return 7;
	}
	return 2;
}
