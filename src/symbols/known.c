/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "symbols/known.h"

#include <ctype.h>
#include <stddef.h>
#include <string.h>

#include "base/util.h"

static const char *const allocators[] = {
	"malloc",
	"calloc",
	"realloc",
	"reallocarray",
	"posix_memalign",
	"aligned_alloc",
	"memalign",
	"valloc",
	"pvalloc",
	"operator new",
	"operator new[]",
	"__libc_malloc",
	"__libc_calloc",
	"__libc_realloc",
	"__libc_memalign",
};

static const char *const allocator_modules[] = {
	"libheapwise-rt.so", "libjemalloc.so", "libtcmalloc", "libmimalloc"};
static const char *const runtime_modules[] = {"libc.so", "libc-", "libstdc++.so", "libgcc_s.so",
	"libpthread.so", "libm.so", "ld-linux", "libc++.so", "libc++abi.so"};
static const char *const runtime_functions[] = {
	"std::", "__gnu_cxx::", "__gnu_debug::", "operator new", "operator delete", "__cxa_"};

static const char *beginning(const char *text, const char *const *beginnings, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (strncmp(text, beginnings[i], strlen(beginnings[i])) == 0)
			return beginnings[i];
	return NULL;
}

bool known_allocator(const char *function)
{
	for (size_t i = 0; i < ARRAY_SIZE(allocators); i++)
		if (strcmp(function, allocators[i]) == 0)
			return true;
	return false;
}

bool known_allocator_module(const char *name)
{
	return beginning(name, allocator_modules, ARRAY_SIZE(allocator_modules)) != NULL;
}

const char *known_runtime_function(const char *function)
{
	return beginning(function, runtime_functions, ARRAY_SIZE(runtime_functions));
}

bool known_runtime_module(const char *name)
{
	return beginning(name, runtime_modules, ARRAY_SIZE(runtime_modules)) != NULL;
}

/* Ends of the names of functions that hand out memory for somebody else to use. */
static const char *const wrapper_ends[] = {
	"alloc", "alloc0", "alloc_n", "alloc0_n", "allocate", "strdup", "strndup", "memdup"};

/* Length of a name without template arguments at its end. */
static size_t without_arguments(const char *name)
{
	size_t len = strlen(name), open = 0;
	if (len == 0 || name[len - 1] != '>')
		return len;
	for (size_t i = len; i > 0; i--) {
		open += name[i - 1] == '>';
		open -= name[i - 1] == '<';
		if (open == 0)
			return i - 1;
	}
	return len;
}

static bool ends_with(const char *name, size_t len, const char *end)
{
	size_t end_len = strlen(end);
	if (len < end_len)
		return false;
	for (size_t i = 0; i < end_len; i++)
		if (tolower((unsigned char)name[len - end_len + i]) != end[i])
			return false;
	return true;
}

bool known_wrapper(const char *function)
{
	size_t len = without_arguments(function);
	for (size_t i = 0; i < ARRAY_SIZE(wrapper_ends); i++)
		if (ends_with(function, len, wrapper_ends[i]))
			return true;
	return false;
}
