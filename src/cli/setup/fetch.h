/* SPDX-License-Identifier: GPL-2.0-or-later */
/* URLs on the command line. */
#ifndef CLI_FETCH_H
#define CLI_FETCH_H

/*
 * Replaces URLs among the words by files that they were fetched to (query/urls.h), and says which;
 * a name stays valid until the process ends. Returns 0, or the exit code after saying why one
 * cannot be fetched.
 */
int fetch_words(int argc, char **argv);

#endif
