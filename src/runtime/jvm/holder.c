/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Runs when: a command begins a recording that it ends itself, until that command has ended. May
 * touch: a FIFO that the command made, and what else is in its directory.
 *
 * A command that is killed can't say so. The kernel does: the FIFO has no writer then.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "runtime/jvm/agent.h"

struct held {
	int fd;
	uint64_t id;
	char path[HOLDER_PATH_MAX];
};

/* What a command removes itself unless it is killed. */
static void left_remove(const char *path)
{
	static const char *const names[] = {"reply", "profile"};
	const char *slash = strrchr(path, '/');
	char other[HOLDER_PATH_MAX + 16];
	int len = slash ? (int)(slash - path) : 0;
	if (unlink(path) || !len)
		return;
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		snprintf(other, sizeof(other), "%.*s/%s", len, path, names[i]);
		unlink(other);
	}
	other[len] = '\0';
	rmdir(other);
}

static void *holder_main(void *context)
{
	struct held *held = context;
	struct jvm_attach_arguments arguments = {JVM_VERSION_JNI, (char *)"heapwise", NULL};
	jvm_jni jni = NULL;
	char byte;
	struct pollfd wait = {held->fd, POLLIN, 0};
	/* Nobody writes: it ends when the command has. */
	for (ssize_t n = 1; n > 0 || (n < 0 && (errno == EINTR || errno == EAGAIN));)
		n = poll(&wait, 1, -1) < 0 ? -1 : read(held->fd, &byte, 1);
	close(held->fd);
	if (!jni_function(agent.vm, JNI_INDEX_ATTACH_DAEMON,
		    int (*)(jvm_vm, jvm_jni *, struct jvm_attach_arguments *))(
		    agent.vm, &jni, &arguments)) {
		recording_abandon(held->id);
		jni_function(agent.vm, JNI_INDEX_DETACH, int (*)(jvm_vm))(agent.vm);
	}
	left_remove(held->path);
	free(held);
	return NULL;
}

/* Opens it without waiting for a writer, who has to be there already: it is empty, and is no file,
 * which would be at its end. */
static int fifo_open(const char *path)
{
	char byte;
	int fd = open(path, O_RDONLY | O_NONBLOCK | O_NOFOLLOW | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, &byte, 1);
	int error = n < 0 ? errno : n ? EINVAL : ESRCH;
	if (fd >= 0 && error == EAGAIN)
		return fd;
	if (fd >= 0)
		close(fd);
	errno = error;
	return -1;
}

/* A thread without signals: those of the process are for threads that the JVM knows. */
static int thread_start(struct held *held)
{
	sigset_t all, before;
	pthread_t thread;
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	int error = pthread_create(&thread, NULL, holder_main, held);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (!error)
		pthread_detach(thread);
	return error;
}

bool holder_watch(const char *path, uint64_t id)
{
	int fd = fifo_open(path);
	if (fd < 0)
		return false;
	struct held *held = malloc(sizeof(*held));
	int error = held ? 0 : ENOMEM;
	if (held) {
		*held = (struct held){.fd = fd, .id = id};
		snprintf(held->path, sizeof(held->path), "%s", path);
		error = thread_start(held);
	}
	if (!error)
		return true;
	free(held);
	close(fd);
	errno = error;
	return false;
}
