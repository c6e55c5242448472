/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Objects of Java in `heapwise run`: the agent is in the JVM from the start, beside malloc's
 * recording, and writes a profile when the JVM ends: "NAME.PID.pb" of the recording "NAME.hpw".
 *
 * A program that is a JVM's launcher gets the argument -agentpath: nothing is printed, and no
 * warning comes, as it does with JAVA_TOOL_OPTIONS and with agents that are loaded later. JVMs that
 * a program starts can be reached by that variable alone, so only where the user asks for it.
 */
#ifndef CLI_JAVA_RUN_H
#define CLI_JAVA_RUN_H

#include <stdbool.h>
#include <time.h>

#include "base/error.h"
#include "capture/launch.h"

struct java_run {
	bool off;      /* --no-java */
	bool children; /* --java: JVMs that the program starts, too */
	/* Below: after java_run_prepare(). */
	bool is_java;   /* the program is `java`, and gets the agent */
	char *pattern;  /* absolute name of a profile, with %p for the PID; NULL: none comes */
	char *folder;   /* where the agent of the program answers; NULL: nowhere */
	char *argument; /* -agentpath… */
	char **argv;    /* with it */
	struct timespec begun; /* CLOCK_REALTIME: profiles before are others */
};

/*
 * If `image`, the file that will run, is a JVM's launcher, has it start with the agent: sets
 * launch->argv. With `children`, sets JAVA_TOOL_OPTIONS. What stands in the way is said in a
 * message, and malloc is recorded all the same. Call java_run_deinit() in any case.
 */
struct error *java_run_prepare(
	struct java_run *run, const char *image, struct launch_options *launch) must_check_;

/* Says which profiles there are, with `quiet` only what is missing. */
void java_run_describe(struct java_run *run, bool quiet);

void java_run_deinit(struct java_run *run);

#endif
