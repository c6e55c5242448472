/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Asks a running HotSpot JVM (OpenJDK and what is built from it) by the protocol of jcmd and jmap.
 * There is no specification; HotSpot's src/hotspot/os/posix/attachListener_posix.cpp is the other
 * end. One command a connection:
 *
 *	1. if there is no socket /tmp/.java_pidN: make a file /tmp/.attach_pidN and send SIGQUIT
 *	2. connect, and write "1", the command and three arguments, each with a NUL after it
 *	3. read a line with a status, then text until the JVM closes it
 *
 * N and /tmp are as the JVM sees them: in its PID namespace and its mounts.
 */
#ifndef PROCESS_JAVA_ATTACH_H
#define PROCESS_JAVA_ATTACH_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "base/error.h"

struct java_vm {
	pid_t pid;
	pid_t inner_pid; /* in its own PID namespace */
	uid_t uid;       /* effective, as the caller sees them */
	gid_t gid;
	bool other_mounts; /* its files are in other places than the caller's */
	int tmp;           /* its /tmp, an O_PATH descriptor; -1: none */
	char *name;        /* main class or jar: java_main_name(); never NULL */
};

/*
 * Makes sure that the process is a JVM that can be asked, and that it listens; nothing is sent to
 * it before both are certain, as SIGQUIT ends other programs. ERROR_INPUT: it is no such JVM;
 * ERROR_ENVIRONMENT: it does not answer, or the caller may not ask. Waits at most 10 seconds. Call
 * java_vm_close() in any case.
 */
struct error *java_vm_open(pid_t pid, struct java_vm *ret) must_check_;
void java_vm_close(struct java_vm *vm);

/*
 * Has the JVM execute a command with up to three arguments (NULL: ""). *ret is its answer with a
 * NUL after it, at most `max` bytes long; the caller frees it. ERROR_ENVIRONMENT: it refuses (the
 * error has its words), breaks off, or says more than that. Waits as long as the JVM takes.
 */
struct error *java_vm_ask(const struct java_vm *vm, const char *const words[4], size_t max,
	char **ret, size_t *ret_len) must_check_;

/*
 * Splits an answer into its status and the text after that line; what begins with no number is
 * refused. The text is a part of `answer`.
 */
struct error *java_answer_split(
	const char *answer, int *ret_status, const char **ret_text) must_check_;

/* A directory in the JVM's /tmp that both sides write to, and nobody else. */
struct java_exchange {
	int fd;      /* -1: none */
	char *inner; /* its path as the JVM has it */
	char *last;  /* its name in /tmp */
	int holder;  /* see java_exchange_hold(); -1: none */
};
struct error *java_exchange_open(const struct java_vm *vm, struct java_exchange *ret) must_check_;
/* Removes what the exchange has and the directory. */
void java_exchange_close(const struct java_vm *vm, struct java_exchange *exchange);
/* Makes a FIFO "holder" in it that this process holds open: who reads it sees when it has ended. */
struct error *java_exchange_hold(
	const struct java_vm *vm, struct java_exchange *exchange) must_check_;
/* Opens a regular file of it; ERROR_ENVIRONMENT if the JVM has left none there. */
struct error *java_exchange_read(
	const struct java_exchange *exchange, const char *name, int *ret_fd) must_check_;

/*
 * Where the JVM finds a library of ours, a path as the JVM has it; the caller frees *ret. In other
 * mounts that is a copy in its /tmp, which stays there: the JVM goes on with the library that it
 * has loaded only while that is the same file. ERROR_ENVIRONMENT: there is no room, or something of
 * another user is in its place.
 */
struct error *java_library_place(
	const struct java_vm *vm, const char *library, char **ret) must_check_;

/*
 * The word of a command line, its words ended by NULs each, that ends the options of a JVM: -jar,
 * -m,
 * --module or the main class; borrowed. NULL: there is none, as with an @argfile that has it.
 */
const char *java_main_word(const char *cmdline, size_t len);

/*
 * How many words of a command line, the JVM's name with them, another option may stand behind: all
 * before -jar, -m, --module, the main class or the first @argfile, which may have the end of the
 * options in it, or the beginning of one.
 */
size_t java_options_count(const char *cmdline, size_t len);

/* What jps calls a JVM, from the `len` bytes of its /proc/PID/cmdline: the main class, or the file
 * of -jar without its directory. NULL: there is none; or no memory. The caller frees it. */
char *java_main_name(const char *cmdline, size_t len);

struct java_process {
	pid_t pid;
	char *name;
};
/* All JVMs that the caller can see and examine, by PID; the caller frees with java_list_free(). */
struct error *java_list(struct java_process **ret, size_t *ret_count) must_check_;
void java_list_free(struct java_process *list, size_t count);

#endif
