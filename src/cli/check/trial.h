/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * One run of a program whose results are compared with those of other runs: exit status, standard
 * output and standard error, which it gets as pipes. Its standard input is the same each time, its
 * addresses are not randomised where the system allows that, and its environment has the same size.
 */
#ifndef CLI_TRIAL_H
#define CLI_TRIAL_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/error.h"

/* What is kept of each stream; of more only a hash and the length are compared. */
#define TRIAL_KEPT_MOST ((size_t)64 << 20)

enum { TRIAL_OUT, TRIAL_ERR, TRIAL_STREAMS };

struct trial_program {
	const char *file;    /* path to execute */
	char *const *argv;   /* argv[0] as typed */
	const char *preload; /* for LD_PRELOAD, before what is there */
	int input;        /* a file whose beginning is the standard input of each run; -1: none */
	int shared;       /* a descriptor that each run has at this number, too; -1: none */
	uint64_t most_ns; /* a run that takes longer is ended; 0: no limit */
};

struct trial {
	int status; /* as waitpid(2) gives it */
	bool timed_out;
	uint64_t ns;
	struct buf kept[TRIAL_STREAMS];
	uint64_t bytes[TRIAL_STREAMS]; /* in all */
	uint64_t hash[TRIAL_STREAMS]; /* of those that were not kept, whatever reads they came in */
};

void trial_init(struct trial *trial);
void trial_deinit(struct trial *trial);

/*
 * Runs the program with the variable "NAME=VALUE" `settings` in its environment, and waits until it
 * has ended and its streams are closed, or a second after its end if other processes keep them
 * open. `trial` is empty before. ERROR_ENVIRONMENT: it can't be started.
 */
struct error *trial_run(
	const struct trial_program *program, const char *settings, struct trial *trial) must_check_;

/*
 * Copies the rest of standard input into a file of its own, which the caller closes; *ret is -1 if
 * it is a terminal or closed, which gives the runs none.
 */
struct error *trial_input(int *ret) must_check_;
/* Opens it anew, at its beginning; -1: it can't be opened. The caller closes the descriptor. */
int trial_open_input(int input);

#endif
