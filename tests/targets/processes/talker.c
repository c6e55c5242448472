/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A program to talk to: says "ready", then "read LINE" for each line it is told, and names each
 * signal that reaches it, with how often it has, from the handler itself. Lines with a meaning:
 * stop, tstp (it stops itself so), end (status 17).
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const struct {
	int number;
	const char *name;
} signals[] = {{SIGTERM, "TERM"}, {SIGINT, "INT"}, {SIGHUP, "HUP"}, {SIGQUIT, "QUIT"},
	{SIGUSR1, "USR1"}, {SIGUSR2, "USR2"}, {SIGWINCH, "WINCH"}};

enum { SIGNALS = sizeof signals / sizeof *signals };

static void say(const char *text)
{
	size_t length = strlen(text);
	if (write(STDOUT_FILENO, text, length) != (ssize_t)length)
		_exit(98);
}

static void handler(int number)
{
	static volatile sig_atomic_t seen[SIGNALS];
	char count[2] = "0";
	int kept = errno;
	for (int i = 0; i < SIGNALS; i++) {
		if (signals[i].number != number)
			continue;
		seen[i] = seen[i] + 1;
		count[0] = (char)('0' + seen[i] % 10);
		char line[16] = "";
		strcat(strcat(strcat(strcat(line, signals[i].name), " "), count), "\n");
		say(line);
	}
	errno = kept;
}

/* False at the end of the input. */
static int read_line(char *ret, size_t size)
{
	for (size_t length = 0; length < size - 1;) {
		ssize_t n = read(STDIN_FILENO, ret + length, 1);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return 0;
		if (ret[length] == '\n') {
			ret[length] = 0;
			return 1;
		}
		length++;
	}
	return 0;
}

int main(void)
{
	struct sigaction action = {.sa_handler = handler};
	for (int i = 0; i < SIGNALS; i++)
		sigaddset(&action.sa_mask, signals[i].number);
	for (int i = 0; i < SIGNALS; i++)
		sigaction(signals[i].number, &action, NULL);
	char *line = malloc(1000);
	say("ready\n");
	while (line && read_line(line, 1000)) {
		if (!strcmp(line, "end"))
			return 17;
		if (!strcmp(line, "stop"))
			raise(SIGSTOP);
		if (!strcmp(line, "tstp"))
			raise(SIGTSTP);
		say("read ");
		say(line);
		say("\n");
	}
	return 9;
}
