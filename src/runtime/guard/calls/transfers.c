/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Runs when: see calls.h. May touch: the same.
 *
 * Buffers for the kernel and for files. The kernel refuses what it can't access, or uses less than
 * it is given: that the size is wrong shows on another day. Names are memcheck's, so that its
 * suppressions fit.
 */
#undef _FILE_OFFSET_BITS /* names are what they are: libc's headers rename none */

#include "runtime/guard/calls/calls.h"

#include "runtime/guard/leaves.h"

#include <sys/socket.h>
#include <sys/uio.h>

static void check_one(const char *text, const void *buffer, uint64_t bytes, bool leaves,
	struct guard_caller caller)
{
	calls_check_buffer(text, buffer, bytes, leaves, caller);
	if (leaves && leaves_are_wanted())
		leaves_look(text, buffer, bytes, caller);
}

/* A function with one buffer, of which `params` and `args` are all parameters, as they are declared
 * and as they are passed on. */
#define WITH_BUFFER(type, name, text, buffer, bytes, leaves, params, args)                         \
	REAL(type, name, params)                                                                   \
	SLOW type name##_slowly params                                                             \
	{                                                                                          \
		struct guard_caller caller = GUARD_CALLER();                                       \
		calls_resolve();                                                                   \
		check_one(text, buffer, bytes, leaves, caller);                                    \
		return real_##name args;                                                           \
	}                                                                                          \
	type name params;                                                                          \
	GUARD_API type name params                                                                 \
	{                                                                                          \
		if (rt_unlikely(!real_##name || (bytes) > calls_room(buffer) ||                    \
				((leaves) && leaves_are_wanted())))                                \
			return name##_slowly args;                                                 \
		return real_##name args;                                                           \
	}

#define ENTERS(type, name, text, buffer, bytes, params, args)                                      \
	WITH_BUFFER(type, name, text, buffer, bytes, false, params, args)
#define LEAVES(type, name, text, buffer, bytes, params, args)                                      \
	WITH_BUFFER(type, name, text, buffer, bytes, true, params, args)

ENTERS(ssize_t, read, "read(buf)", to, n, (int fd, void *to, size_t n), (fd, to, n))
ENTERS(ssize_t, __read_chk, "read(buf)", to, n, (int fd, void *to, size_t n, size_t size),
	(fd, to, n, size))
LEAVES(ssize_t, write, "write(buf)", from, n, (int fd, const void *from, size_t n), (fd, from, n))
ENTERS(ssize_t, pread, "pread64(buf)", to, n, (int fd, void *to, size_t n, long at),
	(fd, to, n, at))
ENTERS(ssize_t, pread64, "pread64(buf)", to, n, (int fd, void *to, size_t n, long at),
	(fd, to, n, at))
ENTERS(ssize_t, __pread_chk, "pread64(buf)", to, n,
	(int fd, void *to, size_t n, long at, size_t size), (fd, to, n, at, size))
ENTERS(ssize_t, __pread64_chk, "pread64(buf)", to, n,
	(int fd, void *to, size_t n, long at, size_t size), (fd, to, n, at, size))
LEAVES(ssize_t, pwrite, "pwrite64(buf)", from, n, (int fd, const void *from, size_t n, long at),
	(fd, from, n, at))
LEAVES(ssize_t, pwrite64, "pwrite64(buf)", from, n, (int fd, const void *from, size_t n, long at),
	(fd, from, n, at))

ENTERS(ssize_t, recv, "socketcall.recvfrom(buf)", to, n, (int fd, void *to, size_t n, int flags),
	(fd, to, n, flags))
ENTERS(ssize_t, __recv_chk, "socketcall.recvfrom(buf)", to, n,
	(int fd, void *to, size_t n, size_t size, int flags), (fd, to, n, size, flags))
ENTERS(ssize_t, recvfrom, "socketcall.recvfrom(buf)", to, n,
	(int fd, void *to, size_t n, int flags, struct sockaddr *who, socklen_t *who_bytes),
	(fd, to, n, flags, who, who_bytes))
ENTERS(ssize_t, __recvfrom_chk, "socketcall.recvfrom(buf)", to, n,
	(int fd, void *to, size_t n, size_t size, int flags, struct sockaddr *who,
		socklen_t *who_bytes),
	(fd, to, n, size, flags, who, who_bytes))
LEAVES(ssize_t, send, "socketcall.sendto(msg)", from, n,
	(int fd, const void *from, size_t n, int flags), (fd, from, n, flags))
LEAVES(ssize_t, sendto, "socketcall.sendto(msg)", from, n,
	(int fd, const void *from, size_t n, int flags, const struct sockaddr *who,
		socklen_t who_bytes),
	(fd, from, n, flags, who, who_bytes))

ENTERS(char *, getcwd, "getcwd(buf)", to, n, (char *to, size_t n), (to, n))
ENTERS(char *, __getcwd_chk, "getcwd(buf)", to, n, (char *to, size_t n, size_t size), (to, n, size))
ENTERS(ssize_t, readlink, "readlink(buf)", to, n, (const char *path, char *to, size_t n),
	(path, to, n))
ENTERS(ssize_t, __readlink_chk, "readlink(buf)", to, n,
	(const char *path, char *to, size_t n, size_t size), (path, to, n, size))
ENTERS(ssize_t, getrandom, "getrandom(buf)", to, n, (void *to, size_t n, unsigned flags),
	(to, n, flags))

ENTERS(ssize_t, readlinkat, "readlinkat(buf)", to, n,
	(int fd, const char *path, char *to, size_t n), (fd, path, to, n))
ENTERS(ssize_t, __readlinkat_chk, "readlinkat(buf)", to, n,
	(int fd, const char *path, char *to, size_t n, size_t size), (fd, path, to, n, size))

/* --- several buffers --- */

#define VECTORS_MOST 1024 /* IOV_MAX: the kernel takes no more */

/* What is null the kernel refuses. */
static bool are_good_vectors(const struct iovec *v, uint64_t count)
{
	if (!v || count > VECTORS_MOST)
		return true;
	for (uint64_t i = 0; i < count; i++)
		if (v[i].iov_len > calls_room(v[i].iov_base))
			return false;
	return true;
}

static void check_vectors(const char *text, const struct iovec *v, uint64_t count, bool leaves,
	struct guard_caller caller)
{
	for (uint64_t i = 0; v && i < count && count <= VECTORS_MOST; i++)
		check_one(text, v[i].iov_base, v[i].iov_len, leaves, caller);
}

#define WITH_VECTORS(name, text, vectors, count, leaves, params, args)                             \
	REAL(ssize_t, name, params)                                                                \
	SLOW ssize_t name##_slowly params                                                          \
	{                                                                                          \
		struct guard_caller caller = GUARD_CALLER();                                       \
		calls_resolve();                                                                   \
		check_vectors(text, vectors, (uint64_t)(count), leaves, caller);                   \
		return real_##name args;                                                           \
	}                                                                                          \
	ssize_t name params;                                                                       \
	GUARD_API ssize_t name params                                                              \
	{                                                                                          \
		if (rt_unlikely(!real_##name || !are_good_vectors(vectors, (uint64_t)(count)) ||   \
				((leaves) && leaves_are_wanted())))                                \
			return name##_slowly args;                                                 \
		return real_##name args;                                                           \
	}

WITH_VECTORS(readv, "readv(vector[...])", v, count, false,
	(int fd, const struct iovec *v, int count), (fd, v, count))
WITH_VECTORS(writev, "writev(vector[...])", v, count, true,
	(int fd, const struct iovec *v, int count), (fd, v, count))
WITH_VECTORS(preadv, "preadv(vector[...])", v, count, false,
	(int fd, const struct iovec *v, int count, long at), (fd, v, count, at))
WITH_VECTORS(preadv64, "preadv(vector[...])", v, count, false,
	(int fd, const struct iovec *v, int count, long at), (fd, v, count, at))
WITH_VECTORS(pwritev, "pwritev(vector[...])", v, count, true,
	(int fd, const struct iovec *v, int count, long at), (fd, v, count, at))
WITH_VECTORS(pwritev64, "pwritev(vector[...])", v, count, true,
	(int fd, const struct iovec *v, int count, long at), (fd, v, count, at))
WITH_VECTORS(recvmsg, "recvmsg(msg.msg_iov)", message ? message->msg_iov : NULL,
	message ? message->msg_iovlen : 0, false, (int fd, struct msghdr *message, int flags),
	(fd, message, flags))
WITH_VECTORS(sendmsg, "sendmsg(msg.msg_iov)", message ? message->msg_iov : NULL,
	message ? message->msg_iovlen : 0, true, (int fd, const struct msghdr *message, int flags),
	(fd, message, flags))

/* --- files of stdio, whose type is left open --- */

static inline uint64_t multiply_sizes(uint64_t a, uint64_t b)
{
	uint64_t product;
	return __builtin_mul_overflow(a, b, &product) ? UINT64_MAX : product;
}

/* Not fread() and fgets(): how much they write is not known before, and much less than they may is
 * no error. */
LEAVES(size_t, fwrite, "fwrite(ptr)", from, multiply_sizes(bytes, n),
	(const void *from, size_t bytes, size_t n, void *file), (from, bytes, n, file))
LEAVES(size_t, fwrite_unlocked, "fwrite(ptr)", from, multiply_sizes(bytes, n),
	(const void *from, size_t bytes, size_t n, void *file), (from, bytes, n, file))
