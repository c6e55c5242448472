/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Waits in every system call that a stop could disturb, each in a thread of its own, and looks
 * whether it was disturbed: each must end after SECONDS, by its own deadline or by what the first
 * thread does then, and never with EINTR.
 *
 *	waits SECONDS [NAME…]
 *
 * Says "ready PID" when all wait; then one line for each: "NAME ok", or "NAME broken: …".
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/aio_abi.h>
#include <mqueue.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/file.h>
#include <sys/inotify.h>
#include <sys/ipc.h>
#include <sys/msg.h>
#include <sys/select.h>
#include <sys/sem.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* How much later than it should a wait may end: the machine may be busy. */
#define LATE_MS 2500
#define EARLY_MS 20

#define SKIPPED 1
#define BROKEN 2

struct wait_state {
	const struct wait_kind *kind;
	pthread_t thread;
	int ends[2]; /* of a pipe or a socket pair, or what else the wait needs */
	int id;
	pid_t child;
	sem_t semaphore;
	pthread_mutex_t lock;
	pthread_cond_t changed;
	char path[64];
	int verdict;
	char problem[160];
	void *block; /* so that there is something to be searched */
};

struct wait_kind {
	const char *name;
	void (*prepare)(struct wait_state *); /* or NULL; in the first thread */
	void (*wait)(struct wait_state *);
	void (*end)(struct wait_state *); /* NULL: it has a deadline */
};

static int seconds;
static sem_t waiting;

static uint64_t now_ms(void)
{
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

__attribute__((format(printf, 2, 3))) static void broken(
	struct wait_state *w, const char *format, ...)
{
	va_list arguments;
	va_start(arguments, format);
	vsnprintf(w->problem, sizeof(w->problem), format, arguments);
	va_end(arguments);
	w->verdict = BROKEN;
}

/* The call has returned `is`; it should be that. With -1, errno should be `reason`. */
static void need(struct wait_state *w, long is, long should, int reason)
{
	int failed = errno;
	if (is == -1 && (failed == ENOSYS || failed == EPERM))
		w->verdict = SKIPPED;
	else if (is != should || (is == -1 && failed != reason))
		broken(w, "returned %ld (%s), not %ld", is, is == -1 ? strerror(failed) : "",
			should);
}

static struct timespec span(void)
{
	return (struct timespec){seconds, 0};
}

static struct timespec deadline(clockid_t clock)
{
	struct timespec at;
	clock_gettime(clock, &at);
	at.tv_sec += seconds;
	return at;
}

/* --- what has a deadline -----------------------------------------------------------------------
 */

static void make_pipe(struct wait_state *w)
{
	if (pipe(w->ends))
		abort();
}

static void make_pair(struct wait_state *w)
{
	if (socketpair(AF_UNIX, SOCK_STREAM, 0, w->ends))
		abort();
}

static void wait_nanosleep(struct wait_state *w)
{
	struct timespec time = span();
	need(w, nanosleep(&time, NULL), 0, 0);
}

static void wait_clock_nanosleep(struct wait_state *w)
{
	struct timespec time = span();
	need(w, clock_nanosleep(CLOCK_MONOTONIC, 0, &time, NULL), 0, 0);
}

static void wait_clock_nanosleep_until(struct wait_state *w)
{
	struct timespec at = deadline(CLOCK_REALTIME);
	need(w, clock_nanosleep(CLOCK_REALTIME, TIMER_ABSTIME, &at, NULL), 0, 0);
}

static void wait_poll(struct wait_state *w)
{
	struct pollfd fd = {.fd = w->ends[0], .events = POLLIN};
	need(w, poll(&fd, 1, seconds * 1000), 0, 0);
}

static void wait_ppoll(struct wait_state *w)
{
	struct pollfd fd = {.fd = w->ends[0], .events = POLLIN};
	struct timespec time = span();
	sigset_t none;
	sigemptyset(&none);
	need(w, ppoll(&fd, 1, &time, &none), 0, 0);
}

static void wait_select(struct wait_state *w)
{
	fd_set set;
	FD_ZERO(&set);
	FD_SET(w->ends[0], &set);
	struct timeval time = {seconds, 0};
	need(w, select(w->ends[0] + 1, &set, NULL, NULL, &time), 0, 0);
}

static void wait_pselect(struct wait_state *w)
{
	fd_set set;
	FD_ZERO(&set);
	FD_SET(w->ends[0], &set);
	struct timespec time = span();
	sigset_t none;
	sigemptyset(&none);
	need(w, pselect(w->ends[0] + 1, &set, NULL, NULL, &time, &none), 0, 0);
}

static void make_epoll(struct wait_state *w)
{
	make_pipe(w);
	struct epoll_event event = {.events = EPOLLIN};
	w->id = epoll_create1(EPOLL_CLOEXEC);
	if (w->id < 0 || epoll_ctl(w->id, EPOLL_CTL_ADD, w->ends[0], &event))
		abort();
}

static void wait_epoll(struct wait_state *w)
{
	struct epoll_event event;
	need(w, epoll_wait(w->id, &event, 1, seconds * 1000), 0, 0);
}

static void wait_epoll_pwait(struct wait_state *w)
{
	struct epoll_event event;
	sigset_t none;
	sigemptyset(&none);
	need(w, epoll_pwait(w->id, &event, 1, seconds * 1000, &none), 0, 0);
}

static void wait_epoll_pwait2(struct wait_state *w)
{
	struct epoll_event event;
	struct timespec time = span();
	need(w, syscall(SYS_epoll_pwait2, w->id, &event, 1, &time, NULL, 0), 0, 0);
}

static void wait_epoll_event(struct wait_state *w)
{
	struct epoll_event event;
	need(w, epoll_wait(w->id, &event, 1, -1), 1, 0);
}

static void wait_cond(struct wait_state *w)
{
	struct timespec at = deadline(CLOCK_REALTIME);
	pthread_mutex_lock(&w->lock);
	need(w, pthread_cond_timedwait(&w->changed, &w->lock, &at), ETIMEDOUT, 0);
	pthread_mutex_unlock(&w->lock);
}

static void wait_semaphore(struct wait_state *w)
{
	struct timespec at = deadline(CLOCK_REALTIME);
	need(w, sem_timedwait(&w->semaphore, &at), -1, ETIMEDOUT);
}

static void wait_futex(struct wait_state *w)
{
	struct timespec time = span();
	uint32_t word = 1;
	need(w, syscall(SYS_futex, &word, 0, 1, &time), -1, ETIMEDOUT);
}

static void wait_sigtimedwait(struct wait_state *w)
{
	sigset_t set;
	sigemptyset(&set);
	sigaddset(&set, SIGRTMIN + 1);
	struct timespec time = span();
	need(w, sigtimedwait(&set, NULL, &time), -1, EAGAIN);
}

static void make_semaphores(struct wait_state *w)
{
	w->id = semget(IPC_PRIVATE, 1, 0600);
}

static void wait_semtimedop(struct wait_state *w)
{
	struct sembuf take = {0, -1, 0};
	struct timespec time = span();
	need(w, semtimedop(w->id, &take, 1, &time), -1, EAGAIN);
	semctl(w->id, 0, IPC_RMID);
}

static void make_mqueue(struct wait_state *w)
{
	struct mq_attr about = {.mq_maxmsg = 1, .mq_msgsize = 8};
	snprintf(w->path, sizeof(w->path), "/heapwise-waits-%d", (int)getpid());
	w->id = mq_open(w->path, O_RDWR | O_CREAT, 0600, &about);
	mq_unlink(w->path);
}

static void wait_mqueue(struct wait_state *w)
{
	char message[8];
	struct timespec at = deadline(CLOCK_REALTIME);
	if (w->id < 0)
		w->verdict = SKIPPED;
	else
		need(w, mq_timedreceive(w->id, message, sizeof(message), NULL, &at), -1, ETIMEDOUT);
}

static void make_aio(struct wait_state *w)
{
	aio_context_t context = 0;
	if (!syscall(SYS_io_setup, 1, &context))
		w->block = (void *)context;
}

static void wait_aio(struct wait_state *w)
{
	struct io_event event;
	struct timespec time = span();
	if (!w->block)
		w->verdict = SKIPPED;
	else
		need(w, syscall(SYS_io_getevents, w->block, 1, 1, &event, &time), 0, 0);
}

/* --- what the first thread ends ----------------------------------------------------------------
 */

static void write_one(struct wait_state *w)
{
	if (write(w->ends[1], "x", 1) != 1)
		abort();
}

static void wait_read(struct wait_state *w)
{
	char byte;
	need(w, read(w->ends[0], &byte, 1), 1, 0);
}

static void wait_recv(struct wait_state *w)
{
	char byte;
	need(w, recv(w->ends[0], &byte, 1, 0), 1, 0);
}

static void wait_poll_event(struct wait_state *w)
{
	struct pollfd fd = {.fd = w->ends[0], .events = POLLIN};
	need(w, poll(&fd, 1, -1), 1, 0);
}

static void fill_pipe(struct wait_state *w)
{
	static const char page[4096];
	make_pipe(w);
	int flags = fcntl(w->ends[1], F_GETFL);
	fcntl(w->ends[1], F_SETFL, flags | O_NONBLOCK);
	while (write(w->ends[1], page, sizeof(page)) > 0)
		continue;
	fcntl(w->ends[1], F_SETFL, flags);
}

static void wait_write(struct wait_state *w)
{
	need(w, write(w->ends[1], "x", 1), 1, 0);
}

static void drain_pipe(struct wait_state *w)
{
	char page[4096];
	if (read(w->ends[0], page, sizeof(page)) <= 0)
		abort();
}

static void make_listener(struct wait_state *w)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	snprintf(address.sun_path + 1, sizeof(address.sun_path) - 1, "waits-%d-%s", (int)getpid(),
		w->kind->name);
	w->ends[0] = socket(AF_UNIX, SOCK_STREAM, 0);
	w->ends[1] = socket(AF_UNIX, SOCK_STREAM, 0);
	if (bind(w->ends[0], (void *)&address, sizeof(address)) || listen(w->ends[0], 0))
		abort();
	memcpy(w->path, address.sun_path, sizeof(w->path));
}

static void connect_to(struct wait_state *w, int fd, int fatal)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	memcpy(address.sun_path, w->path, sizeof(w->path));
	if (connect(fd, (void *)&address, sizeof(address)) && fatal)
		abort();
}

static void wait_accept(struct wait_state *w)
{
	int fd = accept(w->ends[0], NULL, NULL);
	need(w, fd < 0 ? fd : 1, 1, 0);
}

static void connect_once(struct wait_state *w)
{
	connect_to(w, w->ends[1], 1);
}

/* Nobody else fits into the queue of those who want to connect. */
static void make_full_listener(struct wait_state *w)
{
	make_listener(w);
	connect_to(w, socket(AF_UNIX, SOCK_STREAM, 0), 1);
}

static void wait_connect(struct wait_state *w)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	memcpy(address.sun_path, w->path, sizeof(w->path));
	need(w, connect(w->ends[1], (void *)&address, sizeof(address)), 0, 0);
}

static void accept_one(struct wait_state *w)
{
	if (accept(w->ends[0], NULL, NULL) < 0)
		abort();
}

/* The time within which the socket itself gives up is far longer than all of this. */
static void make_patient_pair(struct wait_state *w)
{
	struct timeval patience = {120, 0};
	make_pair(w);
	setsockopt(w->ends[0], SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
}

static void make_patient_listener(struct wait_state *w)
{
	struct timeval patience = {120, 0};
	make_listener(w);
	setsockopt(w->ends[0], SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
}

static void make_patient_full_listener(struct wait_state *w)
{
	struct timeval patience = {120, 0};
	make_full_listener(w);
	setsockopt(w->ends[1], SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience));
}

static void wait_cond_event(struct wait_state *w)
{
	pthread_mutex_lock(&w->lock);
	while (!w->id)
		need(w, pthread_cond_wait(&w->changed, &w->lock), 0, 0);
	pthread_mutex_unlock(&w->lock);
}

static void end_cond(struct wait_state *w)
{
	pthread_mutex_lock(&w->lock);
	w->id = 1;
	pthread_cond_signal(&w->changed);
	pthread_mutex_unlock(&w->lock);
}

static void wait_semaphore_event(struct wait_state *w)
{
	need(w, sem_wait(&w->semaphore), 0, 0);
}

static void end_semaphore(struct wait_state *w)
{
	sem_post(&w->semaphore);
}

static void wait_signal(struct wait_state *w)
{
	sigset_t set;
	sigemptyset(&set);
	sigaddset(&set, SIGRTMIN + 2);
	need(w, sigwaitinfo(&set, NULL), SIGRTMIN + 2, 0);
}

static void end_signal(struct wait_state *w)
{
	pthread_kill(w->thread, SIGRTMIN + 2);
}

static void on_signal(int number)
{
	(void)number;
}

/* EINTR is what these two return; but only when there was a signal. */
static void wait_sigsuspend(struct wait_state *w)
{
	sigset_t all;
	sigfillset(&all);
	sigdelset(&all, SIGUSR1);
	need(w, sigsuspend(&all), -1, EINTR);
}

static void wait_pause(struct wait_state *w)
{
	sigset_t set;
	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	pthread_sigmask(SIG_UNBLOCK, &set, NULL);
	need(w, pause(), -1, EINTR);
}

static void end_usr1(struct wait_state *w)
{
	pthread_kill(w->thread, SIGUSR1);
}

struct message {
	long type;
	char text[8];
};

static void make_messages(struct wait_state *w)
{
	w->id = msgget(IPC_PRIVATE, 0600);
}

static void wait_msgrcv(struct wait_state *w)
{
	struct message message;
	need(w, msgrcv(w->id, &message, sizeof(message.text), 0, 0), 1, 0);
	msgctl(w->id, IPC_RMID, NULL);
}

static void end_msgrcv(struct wait_state *w)
{
	struct message message = {1, "x"};
	if (msgsnd(w->id, &message, 1, 0))
		abort();
}

static void wait_semop(struct wait_state *w)
{
	struct sembuf take = {0, -1, 0};
	need(w, semop(w->id, &take, 1), 0, 0);
	semctl(w->id, 0, IPC_RMID);
}

static void end_semop(struct wait_state *w)
{
	struct sembuf give = {0, 1, 0};
	if (semop(w->id, &give, 1))
		abort();
}

static void make_child(struct wait_state *w)
{
	make_pipe(w);
	w->child = fork();
	if (w->child)
		return;
	char byte;
	close(w->ends[1]);
	while (read(w->ends[0], &byte, 1) < 0 && errno == EINTR)
		continue;
	_exit(7);
}

static void wait_child(struct wait_state *w)
{
	int status = 0;
	need(w, waitpid(w->child, &status, 0), w->child, 0);
	if (!w->verdict && (!WIFEXITED(status) || WEXITSTATUS(status) != 7))
		broken(w, "its child ended with %x", (unsigned)status);
}

static void wait_child_id(struct wait_state *w)
{
	siginfo_t info;
	need(w, waitid(P_PID, (id_t)w->child, &info, WEXITED), 0, 0);
}

static void temporary(struct wait_state *w)
{
	snprintf(w->path, sizeof(w->path), "/tmp/heapwise-waits-XXXXXX");
	w->ends[0] = mkstemp(w->path);
	w->ends[1] = open(w->path, O_RDWR);
	if (w->ends[0] < 0 || w->ends[1] < 0)
		abort();
}

static void make_inotify(struct wait_state *w)
{
	temporary(w);
	w->id = inotify_init1(IN_CLOEXEC);
	if (inotify_add_watch(w->id, w->path, IN_MODIFY) < 0)
		abort();
}

static void wait_inotify(struct wait_state *w)
{
	char events[4096];
	need(w, read(w->id, events, sizeof(events)) > 0, 1, 0);
	unlink(w->path);
}

static void make_flock(struct wait_state *w)
{
	temporary(w);
	if (flock(w->ends[0], LOCK_EX))
		abort();
}

static void wait_flock(struct wait_state *w)
{
	need(w, flock(w->ends[1], LOCK_EX), 0, 0);
	unlink(w->path);
}

static void end_flock(struct wait_state *w)
{
	flock(w->ends[0], LOCK_UN);
}

static void set_lock(int fd, int command, short type)
{
	struct flock lock = {.l_type = type, .l_whence = SEEK_SET};
	if (fcntl(fd, command, &lock))
		abort();
}

static void make_lock(struct wait_state *w)
{
	temporary(w);
	set_lock(w->ends[0], F_OFD_SETLK, F_WRLCK);
}

static void wait_lock(struct wait_state *w)
{
	struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
	need(w, fcntl(w->ends[1], F_OFD_SETLKW, &lock), 0, 0);
	unlink(w->path);
}

static void end_lock(struct wait_state *w)
{
	set_lock(w->ends[0], F_OFD_SETLK, F_UNLCK);
}

static void make_fifo(struct wait_state *w)
{
	temporary(w);
	unlink(w->path);
	if (mkfifo(w->path, 0600))
		abort();
}

static void wait_fifo(struct wait_state *w)
{
	int fd = open(w->path, O_RDONLY);
	need(w, fd < 0 ? fd : 1, 1, 0);
	unlink(w->path);
}

static void end_fifo(struct wait_state *w)
{
	if (open(w->path, O_WRONLY | O_NONBLOCK) < 0)
		abort();
}

static void make_eventfd(struct wait_state *w)
{
	w->id = eventfd(0, EFD_CLOEXEC);
}

static void wait_eventfd(struct wait_state *w)
{
	uint64_t value;
	need(w, read(w->id, &value, sizeof(value)), sizeof(value), 0);
}

static void end_eventfd(struct wait_state *w)
{
	uint64_t value = 1;
	if (write(w->id, &value, sizeof(value)) != sizeof(value))
		abort();
}

static void wait_timerfd(struct wait_state *w)
{
	uint64_t value;
	struct itimerspec when = {.it_value = span()};
	w->id = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC);
	timerfd_settime(w->id, 0, &when, NULL);
	need(w, read(w->id, &value, sizeof(value)), sizeof(value), 0);
}

static void wait_signalfd(struct wait_state *w)
{
	struct signalfd_siginfo info;
	sigset_t set;
	sigemptyset(&set);
	sigaddset(&set, SIGRTMIN + 3);
	w->id = signalfd(-1, &set, SFD_CLOEXEC);
	need(w, read(w->id, &info, sizeof(info)), sizeof(info), 0);
}

static void end_signalfd(struct wait_state *w)
{
	pthread_kill(w->thread, SIGRTMIN + 3);
}

static const struct wait_kind kinds[] = {
	{"nanosleep", NULL, wait_nanosleep, NULL},
	{"clock_nanosleep", NULL, wait_clock_nanosleep, NULL},
	{"clock_nanosleep_until", NULL, wait_clock_nanosleep_until, NULL},
	{"poll", make_pipe, wait_poll, NULL},
	{"ppoll", make_pipe, wait_ppoll, NULL},
	{"select", make_pipe, wait_select, NULL},
	{"pselect", make_pipe, wait_pselect, NULL},
	{"epoll_wait", make_epoll, wait_epoll, NULL},
	{"epoll_pwait", make_epoll, wait_epoll_pwait, NULL},
	{"epoll_pwait2", make_epoll, wait_epoll_pwait2, NULL},
	{"cond_timedwait", NULL, wait_cond, NULL},
	{"sem_timedwait", NULL, wait_semaphore, NULL},
	{"futex", NULL, wait_futex, NULL},
	{"sigtimedwait", NULL, wait_sigtimedwait, NULL},
	{"semtimedop", make_semaphores, wait_semtimedop, NULL},
	{"mq_timedreceive", make_mqueue, wait_mqueue, NULL},
	{"io_getevents", make_aio, wait_aio, NULL},
	{"timerfd", NULL, wait_timerfd, NULL},
	{"poll_event", make_pipe, wait_poll_event, write_one},
	{"epoll_event", make_epoll, wait_epoll_event, write_one},
	{"read_pipe", make_pipe, wait_read, write_one},
	{"write_pipe", fill_pipe, wait_write, drain_pipe},
	{"read_socket", make_pair, wait_read, write_one},
	{"recv", make_pair, wait_recv, write_one},
	{"recv_patient", make_patient_pair, wait_recv, write_one},
	{"read_patient", make_patient_pair, wait_read, write_one},
	{"accept", make_listener, wait_accept, connect_once},
	{"accept_patient", make_patient_listener, wait_accept, connect_once},
	{"connect", make_full_listener, wait_connect, accept_one},
	{"connect_patient", make_patient_full_listener, wait_connect, accept_one},
	{"cond_wait", NULL, wait_cond_event, end_cond},
	{"sem_wait", NULL, wait_semaphore_event, end_semaphore},
	{"sigwaitinfo", NULL, wait_signal, end_signal},
	{"sigsuspend", NULL, wait_sigsuspend, end_usr1},
	{"pause", NULL, wait_pause, end_usr1},
	{"msgrcv", make_messages, wait_msgrcv, end_msgrcv},
	{"semop", make_semaphores, wait_semop, end_semop},
	{"waitpid", make_child, wait_child, write_one},
	{"waitid", make_child, wait_child_id, write_one},
	{"inotify", make_inotify, wait_inotify, write_one},
	{"flock", make_flock, wait_flock, end_flock},
	{"lock", make_lock, wait_lock, end_lock},
	{"fifo", make_fifo, wait_fifo, end_fifo},
	{"eventfd", make_eventfd, wait_eventfd, end_eventfd},
	{"signalfd", NULL, wait_signalfd, end_signalfd},
};

enum { KINDS = sizeof(kinds) / sizeof(kinds[0]) };

static void *run(void *argument)
{
	struct wait_state *w = argument;
	sem_post(&waiting);
	uint64_t since = now_ms();
	w->kind->wait(w);
	uint64_t took = now_ms() - since, wanted = (uint64_t)seconds * 1000;
	if (!w->verdict && (took + EARLY_MS < wanted || took > wanted + LATE_MS))
		broken(w, "took %lu ms instead of %lu", (unsigned long)took, (unsigned long)wanted);
	return NULL;
}

static void begin(struct wait_state *w, const struct wait_kind *kind)
{
	*w = (struct wait_state){.kind = kind, .ends = {-1, -1}, .block = malloc(100)};
	sem_init(&w->semaphore, 0, 0);
	pthread_mutex_init(&w->lock, NULL);
	pthread_cond_init(&w->changed, NULL);
	if (kind->prepare)
		kind->prepare(w);
}

static int is_wanted(const char *name, int argc, char **argv)
{
	for (int i = 2; i < argc; i++) {
		if (!strcmp(argv[i], name))
			return 1;
	}
	return argc <= 2;
}

static int tell(const struct wait_state *w)
{
	static const char *const verdicts[] = {"ok", "skipped", "broken: "};
	printf("%s %s%s\n", w->kind->name, verdicts[w->verdict], w->problem);
	return w->verdict == BROKEN;
}

int main(int argc, char **argv)
{
	static struct wait_state states[KINDS];
	int count = 0, bad = 0;
	seconds = argc > 1 ? atoi(argv[1]) : 1;
	sem_init(&waiting, 0, 0);
	signal(SIGUSR1, on_signal);
	sigset_t blocked;
	sigemptyset(&blocked);
	sigaddset(&blocked, SIGUSR1);
	for (int i = 1; i <= 3; i++)
		sigaddset(&blocked, SIGRTMIN + i);
	sigprocmask(SIG_BLOCK, &blocked, NULL);
	for (int i = 0; i < KINDS; i++) {
		if (is_wanted(kinds[i].name, argc, argv))
			begin(&states[count++], &kinds[i]);
	}
	for (int i = 0; i < count; i++)
		pthread_create(&states[i].thread, NULL, run, &states[i]);
	for (int i = 0; i < count; i++)
		sem_wait(&waiting);
	printf("ready %d\n", (int)getpid());
	fflush(stdout);
	struct timespec time = span();
	if (nanosleep(&time, NULL)) {
		printf("main broken: nanosleep: %s\n", strerror(errno));
		bad = 1;
	}
	for (int i = 0; i < count; i++) {
		if (states[i].kind->end)
			states[i].kind->end(&states[i]);
	}
	for (int i = 0; i < count; i++) {
		pthread_join(states[i].thread, NULL);
		bad |= tell(&states[i]);
	}
	if (waitpid(-1, NULL, 0) != -1 || errno != ECHILD) {
		printf("main broken: there is a child that it did not make\n");
		bad = 1;
	}
	return bad;
}
