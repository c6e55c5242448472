/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * chroot_forks [apart]: three children forked behind a chroot to the current folder, each with 500
 * blocks of 321 bytes; `apart`: in a network namespace of their own, too. Truth: 4 processes,
 * status 3 of each child, 500 blocks of 321 bytes never freed in each.
 */
#define _GNU_SOURCE
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	free(malloc(1000));
	if ((argc > 1 && unshare(CLONE_NEWNET)) || chroot(".") || chdir("/"))
		return 77;
	for (int i = 0; i < 3; i++) {
		if (!fork()) {
			for (int k = 0; k < 500; k++)
				malloc(321);
			_exit(3);
		}
		int status;
		wait(&status);
		if (WEXITSTATUS(status) != 3)
			return 1;
	}
	return 0;
}
