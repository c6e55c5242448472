/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Where libheapwise-java.so is, the agent that a JVM loads. */
#ifndef CLI_JAVA_LIBRARY_H
#define CLI_JAVA_LIBRARY_H

#include "base/error.h"

/* Finds the library beside libheapwise-rt.so. The caller frees *ret. ERROR_ENVIRONMENT: it is not
 * there. */
struct error *java_library_find(char **ret) must_check_;

#endif
