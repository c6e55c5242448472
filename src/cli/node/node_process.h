/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Node processes from outside: whether one is node, and where its inspector listens. SIGUSR1 opens
 * it; it ends programs that don't expect it, so that it is only sent to a process that is proved to
 * be node and handles it.
 */
#ifndef CLI_NODE_PROCESS_H
#define CLI_NODE_PROCESS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"

struct node_process {
	pid_t pid;
	int pidfd;
	uint16_t port; /* of its inspector */
	bool opened;   /* by us */
};

/*
 * Finds the inspector of a process, and has it opened if it is not: a listener of it that says that
 * it is one. Enters the network of the
 * process if that is another one (a container). ERROR_INPUT: it is not node, or does not take the
 * signal; ERROR_ENVIRONMENT: what is in the way. Nothing is sent then, unless the message says so.
 */
struct error *node_process_open(pid_t pid, struct node_process *ret) must_check_;
/* Returns whether the inspector that was found still listens. */
bool node_process_listens(const struct node_process *process);
void node_process_close(struct node_process *process);

#endif
