/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Long results, a screen at a time: when stdout is a terminal, what is written to it goes through
 * $HEAPWISE_PAGER, else $PAGER, else less (which goes by itself where one screen is enough). An
 * empty value or "cat" means none.
 */
#ifndef CLI_PAGER_H
#define CLI_PAGER_H

#include <stdbool.h>
#include <sys/types.h>

/*
 * From now on stdout leads to the pager, if it is a terminal and there is a pager; else nothing
 * happens. To be called once, when there is something to show: later calls see that stdout is a
 * pipe. At exit the pager is waited for.
 */
void pager_start(void);

/* Starts a command of the shell that reads from `in`, with the default action of SIGINT and
 * SIGPIPE. Returns 0, or the number of the error. */
int shell_spawn(const char *command, int in, pid_t *ret);

/* Whether a folder of PATH has it, and it may be executed. */
bool program_in_path(const char *name);

/* Ends the pager's input and waits until the user has left it. Nothing if there is none. */
void pager_end(void);

#endif
