/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Runs when: see parts.h. May touch: the same.
 *
 * Functions that are given structures and arrays for the kernel. Those that move data between files
 * and memory: transfers.c; that are given names: names.c.
 */
#undef _FILE_OFFSET_BITS /* names are what they are: libc's headers rename none */

#include "runtime/guard/calls/parts.h"

#include <poll.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/sysinfo.h>
#include <sys/time.h>
#include <sys/times.h>
#include <sys/utsname.h>

#define TIME_BYTES sizeof(struct timespec) /* and of a timeval */
#define PAIR_BYTES (2 * sizeof(int))       /* of descriptors */
#define TIMER_BYTES (2 * sizeof(struct timespec))

/* Bytes of `n` things; none, if there are more than the kernel takes. */
static uint64_t bytes_of(long n, uint64_t each)
{
	return n > 0 && n < 1l << 24 ? (uint64_t)n * each : 0;
}

/* --- waiting --- */

PARTS(int, poll, (struct pollfd * fds, unsigned long n, int timeout), (fds, n, timeout),
	FILLS("poll(ufds)", fds, bytes_of((long)n, sizeof(struct pollfd))))
PARTS(int, __poll_chk, (struct pollfd * fds, unsigned long n, int timeout, size_t size),
	(fds, n, timeout, size), FILLS("poll(ufds)", fds, bytes_of((long)n, sizeof(struct pollfd))))
PARTS(int, ppoll, (struct pollfd * fds, unsigned long n, const void *timeout, const void *mask),
	(fds, n, timeout, mask),
	FILLS("ppoll(ufds)", fds, bytes_of((long)n, sizeof(struct pollfd))),
	READS("ppoll(tsp)", timeout, TIME_BYTES), READS("ppoll(sigmask)", mask, 8))
PARTS(int, select, (int n, void *in, void *out, void *bad, void *timeout),
	(n, in, out, bad, timeout), FILLS("select(readfds)", in, bytes_of((n + 7) / 8, 1)),
	FILLS("select(writefds)", out, bytes_of((n + 7) / 8, 1)),
	FILLS("select(exceptfds)", bad, bytes_of((n + 7) / 8, 1)),
	FILLS("select(timeout)", timeout, TIME_BYTES))
PARTS(int, pselect, (int n, void *in, void *out, void *bad, const void *timeout, const void *mask),
	(n, in, out, bad, timeout, mask), FILLS("pselect6(readfds)", in, bytes_of((n + 7) / 8, 1)),
	FILLS("pselect6(writefds)", out, bytes_of((n + 7) / 8, 1)),
	FILLS("pselect6(exceptfds)", bad, bytes_of((n + 7) / 8, 1)),
	READS("pselect6(tsp)", timeout, TIME_BYTES), READS("pselect6(sig)", mask, 8))
PARTS(int, epoll_wait, (int fd, void *events, int most, int timeout), (fd, events, most, timeout),
	FILLS("epoll_wait(events)", events, bytes_of(most, sizeof(struct epoll_event))))
PARTS(int, epoll_pwait, (int fd, void *events, int most, int timeout, const void *mask),
	(fd, events, most, timeout, mask),
	FILLS("epoll_pwait(events)", events, bytes_of(most, sizeof(struct epoll_event))))
PARTS(int, epoll_ctl, (int fd, int what, int of, void *event), (fd, what, of, event),
	READS("epoll_ctl(event)", what == EPOLL_CTL_DEL ? NULL : event, sizeof(struct epoll_event)))
PARTS(int, signalfd, (int fd, const void *mask, int flags), (fd, mask, flags),
	READS("signalfd4(sigmask)", mask, 8))
PARTS(int, wait, (int *status), (status), FILLS("wait4(status)", status, sizeof(int)))
PARTS(int, waitpid, (int pid, int *status, int options), (pid, status, options),
	FILLS("wait4(status)", status, sizeof(int)))
PARTS(int, wait3, (int *status, int options, void *usage), (status, options, usage),
	FILLS("wait4(status)", status, sizeof(int)),
	FILLS("wait4(rusage)", usage, sizeof(struct rusage)))
PARTS(int, wait4, (int pid, int *status, int options, void *usage), (pid, status, options, usage),
	FILLS("wait4(status)", status, sizeof(int)),
	FILLS("wait4(rusage)", usage, sizeof(struct rusage)))
PARTS(int, waitid, (int type, unsigned id, void *info, int options), (type, id, info, options),
	FILLS("waitid(infop)", info, sizeof(siginfo_t)))

/* --- sockets --- */

PARTS(int, bind, (int fd, const void *address, unsigned bytes), (fd, address, bytes),
	READS_MEMBERS("socketcall.bind(my_addr)", address, bytes_of((int)bytes, 1)))
PARTS(int, connect, (int fd, const void *address, unsigned bytes), (fd, address, bytes),
	READS_MEMBERS("socketcall.connect(serv_addr)", address, bytes_of((int)bytes, 1)))
PARTS(int, getsockname, (int fd, void *address, void *bytes), (fd, address, bytes),
	FILLS("socketcall.getsockname(namelen_in)", bytes, sizeof(uint32_t)),
	FILLS("socketcall.getsockname(name)", address, parts_length(bytes)))
PARTS(int, getpeername, (int fd, void *address, void *bytes), (fd, address, bytes),
	FILLS("socketcall.getpeername(namelen_in)", bytes, sizeof(uint32_t)),
	FILLS("socketcall.getpeername(name)", address, parts_length(bytes)))
PARTS(int, accept, (int fd, void *address, void *bytes), (fd, address, bytes),
	FILLS("socketcall.accept(addrlen_in)", bytes, sizeof(uint32_t)),
	FILLS("socketcall.accept(addr)", address, parts_length(bytes)))
PARTS(int, accept4, (int fd, void *address, void *bytes, int flags), (fd, address, bytes, flags),
	FILLS("socketcall.accept4(addrlen_in)", bytes, sizeof(uint32_t)),
	FILLS("socketcall.accept4(addr)", address, parts_length(bytes)))
PARTS(int, getsockopt, (int fd, int level, int option, void *value, void *bytes),
	(fd, level, option, value, bytes),
	FILLS("socketcall.getsockopt(optlen)", bytes, sizeof(uint32_t)),
	FILLS("socketcall.getsockopt(optval)", value, parts_length(bytes)))
PARTS(int, setsockopt, (int fd, int level, int option, const void *value, unsigned bytes),
	(fd, level, option, value, bytes),
	READS("socketcall.setsockopt(optval)", value, bytes_of((int)bytes, 1)))
PARTS(int, socketpair, (int domain, int type, int protocol, int *pair),
	(domain, type, protocol, pair), FILLS("socketcall.socketpair(sv)", pair, PAIR_BYTES))
PARTS(int, pipe, (int *pair), (pair), FILLS("pipe(filedes)", pair, PAIR_BYTES))
PARTS(int, pipe2, (int *pair, int flags), (pair, flags), FILLS("pipe2(filedes)", pair, PAIR_BYTES))
PARTS(long, sendfile, (int to, int from, void *at, size_t bytes), (to, from, at, bytes),
	FILLS("sendfile(offset)", at, sizeof(long)))
PARTS(long, sendfile64, (int to, int from, void *at, size_t bytes), (to, from, at, bytes),
	FILLS("sendfile64(offset)", at, sizeof(long)))

/* --- time --- */

PARTS(int, gettimeofday, (void *to, void *zone), (to, zone),
	FILLS("gettimeofday(tv)", to, TIME_BYTES),
	FILLS("gettimeofday(tz)", zone, sizeof(struct timezone)))
PARTS(int, clock_gettime, (int clock, void *to), (clock, to),
	FILLS("clock_gettime(tp)", to, TIME_BYTES))
PARTS(int, clock_getres, (int clock, void *to), (clock, to),
	FILLS("clock_getres(res)", to, TIME_BYTES))
PARTS(long, time, (long *to), (to), FILLS("time(t)", to, sizeof(long)))
PARTS(int, nanosleep, (const void *time, void *left), (time, left),
	READS("nanosleep(req)", time, TIME_BYTES), FILLS("nanosleep(rem)", left, TIME_BYTES))
PARTS(int, clock_nanosleep, (int clock, int flags, const void *time, void *left),
	(clock, flags, time, left), READS("clock_nanosleep(req)", time, TIME_BYTES),
	FILLS("clock_nanosleep(rem)", left, TIME_BYTES))
PARTS(int, getitimer, (int which, void *to), (which, to),
	FILLS("getitimer(value)", to, TIMER_BYTES))
PARTS(int, setitimer, (int which, const void *from, void *old), (which, from, old),
	READS("setitimer(value)", from, TIMER_BYTES), FILLS("setitimer(ovalue)", old, TIMER_BYTES))
PARTS(int, timerfd_gettime, (int fd, void *to), (fd, to),
	FILLS("timerfd_gettime(curr_value)", to, TIMER_BYTES))
PARTS(int, timerfd_settime, (int fd, int flags, const void *from, void *old),
	(fd, flags, from, old), READS("timerfd_settime(new_value)", from, TIMER_BYTES),
	FILLS("timerfd_settime(old_value)", old, TIMER_BYTES))
PARTS(long, times, (void *to), (to), FILLS("times(buf)", to, sizeof(struct tms)))

/* --- the system and the process --- */

PARTS(int, uname, (void *to), (to), FILLS("uname(buf)", to, sizeof(struct utsname)))
PARTS(int, sysinfo, (void *to), (to), FILLS("sysinfo(info)", to, sizeof(struct sysinfo)))
PARTS(int, getrusage, (int who, void *to), (who, to),
	FILLS("getrusage(usage)", to, sizeof(struct rusage)))
PARTS(int, getrlimit, (int what, void *to), (what, to),
	FILLS("getrlimit(rlim)", to, sizeof(struct rlimit)))
PARTS(int, getrlimit64, (int what, void *to), (what, to),
	FILLS("getrlimit(rlim)", to, sizeof(struct rlimit)))
PARTS(int, getgroups, (int n, void *to), (n, to),
	FILLS("getgroups(list)", to, bytes_of(n, sizeof(int))))
PARTS(int, getresuid, (void *real, void *effective, void *saved), (real, effective, saved),
	FILLS("getresuid(ruid)", real, 4), FILLS("getresuid(euid)", effective, 4),
	FILLS("getresuid(suid)", saved, 4))
PARTS(int, getresgid, (void *real, void *effective, void *saved), (real, effective, saved),
	FILLS("getresgid(rgid)", real, 4), FILLS("getresgid(egid)", effective, 4),
	FILLS("getresgid(sgid)", saved, 4))
PARTS(int, sigaltstack, (const void *stack, void *old), (stack, old),
	READS_MEMBERS("sigaltstack(ss)", stack, sizeof(stack_t)),
	FILLS("sigaltstack(oss)", old, sizeof(stack_t)))
PARTS(long, getdents64, (int fd, void *to, size_t n), (fd, to, n), FILLS("getdents64(dirp)", to, n))
