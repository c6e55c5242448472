/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What this command was built from, and what it finds here: for bug reports. */
#ifndef CLI_BUILD_FACTS_H
#define CLI_BUILD_FACTS_H

#include "base/text.h"

/* Adds lines "name: value": the build, libraries, optional parts, paths and the kernel. Looks at
 * this machine, and changes nothing. */
void build_facts_add(struct text *text);

#endif
