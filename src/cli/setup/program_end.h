/* SPDX-License-Identifier: GPL-2.0-or-later */
/* How a command ends that runs a program: as the program did. */
#ifndef CLI_PROGRAM_END_H
#define CLI_PROGRAM_END_H

/* As env(1): our own failures leave the program's range of statuses alone. */
enum { EXIT_OURS = 125, EXIT_NOT_EXECUTABLE = 126, EXIT_NOT_FOUND = 127 };

/* Ends as the program did, whose status is as waitpid(2) gives it: returns its exit status, or dies
 * by the same signal. A second core file would help nobody. */
int program_end_like(int status);

/* Says that a program could not be executed after all; returns the exit status for that. */
int program_end_not_executed(const char *name, int why);

#endif
