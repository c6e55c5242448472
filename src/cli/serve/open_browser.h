/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Opening a URL as the user would. */
#ifndef CLI_OPEN_BROWSER_H
#define CLI_OPEN_BROWSER_H

/* Starts xdg-open with the URL, which others may see in the list of processes, and doesn't wait.
 * Says so if it can't, or as root: a browser must not run so. */
void browser_open(const char *url);

#endif
