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
#include "runtime/guard/text.h"

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

/* IOV_MAX and UIO_MAXIOV: the kernel takes no more, of messages neither. */
#define VECTORS_MOST 1024

/* Arrays and heads are read as the kernel reads them: what can't be read it refuses. */
static bool vector_read(const struct iovec *v, uint64_t i, struct iovec *ret)
{
	return guard_peek(ret, (uint64_t)(v + i), sizeof(*ret));
}

static bool are_good_vectors(const struct iovec *v, uint64_t count)
{
	struct iovec one;
	if (!v || count > VECTORS_MOST)
		return true;
	if (count * sizeof(*v) > calls_room(v))
		return false;
	for (uint64_t i = 0; i < count && vector_read(v, i, &one); i++)
		if (one.iov_len > calls_room(one.iov_base))
			return false;
	return true;
}

static void check_vectors(const char *array, const char *text, const struct iovec *v,
	uint64_t count, bool leaves, struct guard_caller caller)
{
	struct iovec one;
	if (!v || count > VECTORS_MOST)
		return;
	check_one(array, v, count * sizeof(*v), true, caller);
	for (uint64_t i = 0; i < count && vector_read(v, i, &one); i++)
		check_one(text, one.iov_base, one.iov_len, leaves, caller);
}

#define WITH_VECTORS(name, array, text, leaves, params, args)                                      \
	REAL(ssize_t, name, params)                                                                \
	SLOW ssize_t name##_slowly params                                                          \
	{                                                                                          \
		struct guard_caller caller = GUARD_CALLER();                                       \
		calls_resolve();                                                                   \
		check_vectors(array, text, v, (uint64_t)count, leaves, caller);                    \
		return real_##name args;                                                           \
	}                                                                                          \
	ssize_t name params;                                                                       \
	GUARD_API ssize_t name params                                                              \
	{                                                                                          \
		if (rt_unlikely(!real_##name || !are_good_vectors(v, (uint64_t)count) ||           \
				((leaves) && leaves_are_wanted())))                                \
			return name##_slowly args;                                                 \
		return real_##name args;                                                           \
	}

WITH_VECTORS(readv, "readv(vector)", "readv(vector[...])", false,
	(int fd, const struct iovec *v, int count), (fd, v, count))
WITH_VECTORS(writev, "writev(vector)", "writev(vector[...])", true,
	(int fd, const struct iovec *v, int count), (fd, v, count))
WITH_VECTORS(preadv, "preadv(vector)", "preadv(vector[...])", false,
	(int fd, const struct iovec *v, int count, long at), (fd, v, count, at))
WITH_VECTORS(preadv64, "preadv(vector)", "preadv(vector[...])", false,
	(int fd, const struct iovec *v, int count, long at), (fd, v, count, at))
WITH_VECTORS(pwritev, "pwritev(vector)", "pwritev(vector[...])", true,
	(int fd, const struct iovec *v, int count, long at), (fd, v, count, at))
WITH_VECTORS(pwritev64, "pwritev(vector)", "pwritev(vector[...])", true,
	(int fd, const struct iovec *v, int count, long at), (fd, v, count, at))

/* --- messages --- */

#define NOT_ONE UINT64_MAX

/* Which message of which call: "sendmsg(msg" or "sendmsg(mmsg[3]". */
struct message_place {
	const char *call;
	uint64_t number; /* of several; NOT_ONE: there is one */
	bool leaves;     /* it is sent */
};

/* "sendmsg(msg.msg_iov[2])" */
static const char *message_text(const struct message_place *place, const char *member,
	uint64_t index, struct guard_text *ret)
{
	ret->used = 0;
	text_add(ret, place->call);
	text_add(ret, place->number == NOT_ONE ? "(msg" : "(mmsg[");
	if (place->number != NOT_ONE) {
		text_add_number(ret, place->number);
		text_add(ret, "]");
	}
	text_add(ret, member);
	if (index != NOT_ONE) {
		text_add(ret, "[");
		text_add_number(ret, index);
		text_add(ret, "]");
	}
	text_add(ret, ")");
	ret->bytes[ret->used] = 0; /* there is room: the words are short */
	return ret->bytes;
}

static bool is_good_message(const struct msghdr *message)
{
	struct msghdr head;
	if (!message)
		return true;
	if (sizeof(head) > calls_room(message))
		return false;
	return !guard_peek(&head, (uint64_t)message, sizeof(head)) ||
	       ((!head.msg_name || head.msg_namelen <= calls_room(head.msg_name)) &&
		       (!head.msg_control || head.msg_controllen <= calls_room(head.msg_control)) &&
		       are_good_vectors(head.msg_iov, head.msg_iovlen));
}

static void check_message(
	const struct message_place *place, const struct msghdr *message, struct guard_caller caller)
{
	struct guard_text text;
	struct msghdr head;
	struct iovec one;
	if (!message)
		return;
	calls_check_buffer(
		message_text(place, "", NOT_ONE, &text), message, sizeof(head), true, caller);
	if (!guard_peek(&head, (uint64_t)message, sizeof(head)))
		return;
	/* Both have padding: they are not looked at for bytes that were never written. */
	if (head.msg_name)
		calls_check_buffer(message_text(place, ".msg_name", NOT_ONE, &text), head.msg_name,
			head.msg_namelen, place->leaves, caller);
	if (head.msg_control)
		calls_check_buffer(message_text(place, ".msg_control", NOT_ONE, &text),
			head.msg_control, head.msg_controllen, place->leaves, caller);
	if (!head.msg_iov || head.msg_iovlen > VECTORS_MOST)
		return;
	check_one(message_text(place, ".msg_iov", NOT_ONE, &text), head.msg_iov,
		head.msg_iovlen * sizeof(one), true, caller);
	for (uint64_t i = 0; i < head.msg_iovlen && vector_read(head.msg_iov, i, &one); i++)
		check_one(message_text(place, ".msg_iov", i, &text), one.iov_base, one.iov_len,
			place->leaves, caller);
}

#define WITH_MESSAGE(name, leaves, params, args)                                                   \
	REAL(ssize_t, name, params)                                                                \
	SLOW ssize_t name##_slowly params                                                          \
	{                                                                                          \
		struct guard_caller caller = GUARD_CALLER();                                       \
		const struct message_place place = {#name, NOT_ONE, leaves};                       \
		calls_resolve();                                                                   \
		check_message(&place, message, caller);                                            \
		return real_##name args;                                                           \
	}                                                                                          \
	ssize_t name params;                                                                       \
	GUARD_API ssize_t name params                                                              \
	{                                                                                          \
		if (rt_unlikely(!real_##name || !is_good_message(message) ||                       \
				((leaves) && leaves_are_wanted())))                                \
			return name##_slowly args;                                                 \
		return real_##name args;                                                           \
	}

WITH_MESSAGE(recvmsg, false, (int fd, struct msghdr *message, int flags), (fd, message, flags))
WITH_MESSAGE(sendmsg, true, (int fd, const struct msghdr *message, int flags), (fd, message, flags))

/* As struct mmsghdr, which libc's headers have for _GNU_SOURCE alone. */
struct counted_message {
	struct msghdr message;
	unsigned bytes;
};

static bool are_good_messages(const struct counted_message *messages, unsigned count)
{
	count = count < VECTORS_MOST ? count : VECTORS_MOST;
	if (!messages)
		return true;
	if (count * sizeof(*messages) > calls_room(messages))
		return false;
	for (unsigned i = 0; i < count; i++)
		if (!is_good_message(&messages[i].message))
			return false;
	return true;
}

static void check_messages(const char *array, const char *call, bool leaves,
	const struct counted_message *messages, unsigned count, struct guard_caller caller)
{
	count = count < VECTORS_MOST ? count : VECTORS_MOST;
	if (!messages ||
		calls_check_buffer(array, messages, count * sizeof(*messages), true, caller))
		return;
	for (unsigned i = 0; i < count; i++) {
		const struct message_place place = {call, i, leaves};
		check_message(&place, &messages[i].message, caller);
	}
}

/* By another name, as libc's headers may declare them with other types. */
#define WITH_MESSAGES(name, array, call, leaves, params, args)                                     \
	REAL(int, name, params)                                                                    \
	SLOW int name##_slowly params                                                              \
	{                                                                                          \
		struct guard_caller caller = GUARD_CALLER();                                       \
		calls_resolve();                                                                   \
		check_messages(array, call, leaves, messages, n, caller);                          \
		return real_##name args;                                                           \
	}                                                                                          \
	int own_##name params __asm__(#name);                                                      \
	GUARD_API int own_##name params                                                            \
	{                                                                                          \
		if (rt_unlikely(!real_##name || !are_good_messages(messages, n) ||                 \
				((leaves) && leaves_are_wanted())))                                \
			return name##_slowly args;                                                 \
		return real_##name args;                                                           \
	}

WITH_MESSAGES(recvmmsg, "recvmmsg(mmsg)", "recvmsg", false,
	(int fd, struct counted_message *messages, unsigned n, int flags, void *until),
	(fd, messages, n, flags, until))
WITH_MESSAGES(sendmmsg, "sendmmsg(mmsg)", "sendmsg", true,
	(int fd, struct counted_message *messages, unsigned n, int flags), (fd, messages, n, flags))

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
