/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * fake_collector SOCKET: listens there and starts itself once more with HEAPWISE_SESSION=SOCKET, as
 * its own "recorded" process, which has a mapping that is called like a session's rings. Says the
 * child's number, answers whoever asks that the recording is /etc/passwd, and says "asked" then.
 * Ends with its input.
 */
#define _GNU_SOURCE
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

static void be_recorded(void)
{
	int fd = memfd_create("heapwise-rings.heapwise.XXXXXX", MFD_CLOEXEC);
	ftruncate(fd, 8192);
	mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	write(1, "ready\n", 6);
	pause();
}

int main(int argc, char **argv)
{
	if (argc == 1) {
		be_recorded();
		return 0;
	}
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	strcpy(address.sun_path, argv[1]);
	int listening = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	if (bind(listening, (struct sockaddr *)&address, sizeof(address)) || listen(listening, 9))
		return 1;
	pid_t child = fork();
	if (!child) {
		setenv("HEAPWISE_SESSION", argv[1], 1);
		execl("/proc/self/exe", "fake", NULL);
	}
	dprintf(1, "%d\n", child);
	struct pollfd any[2] = {{.fd = listening, .events = POLLIN}, {.fd = 0, .events = POLLIN}};
	while (poll(any, 2, -1) > 0 && !any[1].revents) {
		int one = accept(listening, NULL, NULL);
		char request[4096];
		struct {
			unsigned ok, busy;
			unsigned long long time_ns, blocks;
			char file[4200], message[512];
		} reply = {1, 0, 5, 7, "/etc/passwd", "\033]0;owned\007"};
		if (recv(one, request, sizeof(request), 0) > 0) {
			dprintf(1, "asked\n");
			send(one, &reply, sizeof(reply), MSG_NOSIGNAL);
		}
		close(one);
	}
	kill(child, 9);
	return 0;
}
