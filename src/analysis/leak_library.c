/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the C and C++ libraries keep for themselves until the process ends and would free if they
 * were asked (__libc_freeres(), __gnu_cxx::__freeres(), which memcheck calls before it searches).
 * Told by the stack that allocated it; a program's own blocks are never among it, though it called:
 * the stream that fopen() gives is the program's, the buffer behind it libc's.
 *
 * Local functions of a stripped libc have no names: an entry ends with an exported one, what is
 * further in is passed over.
 */
#include "analysis/leaks.h"

#define LIBC "   obj:*/libc.so*\n"
#define ENTRY(name, frames)                                                                        \
	"{\n   " name "\n   Memcheck:Leak\n   match-leak-kinds: reachable\n" frames "}\n"
/* Blocks that a function of libc, by its exported name, allocates itself or through local ones. */
#define WITHIN_1(name, function) ENTRY(name, "   fun:*alloc\n   fun:" function "\n")
#define WITHIN_2(name, function) ENTRY(name, "   fun:*alloc\n" LIBC "   fun:" function "\n")
#define WITHIN_3(name, function) ENTRY(name, "   fun:*alloc\n" LIBC LIBC "   fun:" function "\n")
#define WITHIN_4(name, function)                                                                   \
	ENTRY(name, "   fun:*alloc\n" LIBC LIBC LIBC "   fun:" function "\n")
#define WITHIN(name, function)                                                                     \
	WITHIN_1(name, function)                                                                   \
	WITHIN_2(name, function) WITHIN_3(name, function) WITHIN_4(name, function)

static const char entries[] = WITHIN("stdio buffers", "_IO_file_doallocate") WITHIN(
	"stdio buffers", "_IO_wfile_doallocate") WITHIN("time zones", "tzset") WITHIN("time zones",
	"localtime") WITHIN("time zones", "localtime_r") WITHIN("time zones",
	"mktime") WITHIN("time zones", "strftime_l") WITHIN("locales",
	"setlocale") WITHIN("environment", "setenv") WITHIN("environment",
	"putenv") WITHIN("users and groups", "getpwnam") WITHIN("users and groups",
	"getpwuid") "{\n   C++ exceptions\n   Memcheck:Leak\n   match-leak-kinds: reachable\n"
		    "   fun:malloc\n   obj:*/libstdc++.so*\n   fun:call_init*\n   ...\n}\n"
		    "{\n   C++ exceptions\n   Memcheck:Leak\n   match-leak-kinds: reachable\n"
		    "   fun:malloc\n   obj:*/libstdc++.so*\n   obj:*/ld-linux*\n   ...\n}\n";

const char *leak_library_text(void)
{
	return entries;
}
