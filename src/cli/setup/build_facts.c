/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Versions of libraries are those that are loaded now, asked by the name of the function that every
 * one of them has for that: no header of theirs is needed. Those without such a function, or that
 * are not loaded, show what the command was built with.
 */
#include "cli/setup/build_facts.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/util.h"
#include "cli/build_commit.h"
#include "cli/options/shims.h"
#include "cli/setup/runtime_find.h"
#include "cli/terminal/pager.h"
#include "query/state_folder.h"
#include "symbols/symbols.h"

/* A library, as meson found it: NAME=VERSION. */
static const char built_with[] = HW_LIBRARIES;

/* How a library tells its version. */
static const struct asked_version {
	const char *library; /* as in HW_LIBRARIES */
	const char *function;
} asked_versions[] = {
	{"libzstd", "ZSTD_versionString"},
	{"zlib", "zlibVersion"},
	{"jansson", "jansson_version_str"},
};

/* Loaded when something needs them (base/library.h). */
static const struct optional_library {
	const char *library;
	const char *file;
	const char *function; /* gives its version; NULL: none does */
	const char *use;
} optional_libraries[] = {
	{"libarchive", "libarchive.so.13", "archive_version_string", "bundles, packed cores"},
	{"libcurl", "libcurl.so.4", "curl_version", "files by URL, debuginfod"},
	{"libbpf", "libbpf.so.1", "libbpf_version_string", "watch"},
	{"libmicrohttpd", "libmicrohttpd.so.12", "MHD_get_version", "serve"},
	{"libpcre2-8", "libpcre2-8.so.0", NULL, "regular expressions"},
	{"libexpat", "libexpat.so.1", "XML_ExpatVersion", "XML of Valgrind"},
	{"libedit", "libedit.so.2", NULL, "prompt on a terminal"},
};

static void add_fact(struct text *text, const char *name, const char *value)
{
	text_printf(text, "%-14s %s\n", name, value);
}

/* The version that a loaded library tells; NULL: nobody asked it, or it is not loaded. */
static const char *ask_version(void *handle, const char *function)
{
	const char *(*ask)(void) = NULL;
	void *found = dlsym(handle, function);
	memcpy(&ask, &found, sizeof(ask)); /* C knows no cast from a pointer to data */
	return ask ? ask() : NULL;
}

static const char *loaded_version(const char *library, size_t len)
{
	for (size_t i = 0; i < ARRAY_SIZE(asked_versions); i++) {
		const struct asked_version *one = &asked_versions[i];
		if (strlen(one->library) == len && !strncmp(one->library, library, len))
			return ask_version(RTLD_DEFAULT, one->function);
	}
	return NULL;
}

/* "libzstd 1.5.4, zlib 1.2.13", and where it is another than at the build "(built with 1.5.2)". */
static void add_libraries(struct text *text)
{
	text_printf(text, "%-14s ", "libraries");
	for (const char *one = built_with; *one;) {
		size_t len = strcspn(one, " "), name = strcspn(one, "=");
		int version_len = (int)(len - name - 1);
		const char *version = one + name + 1, *now = loaded_version(one, name);
		text_printf(text, "%s%.*s ", one == built_with ? "" : ", ", (int)name, one);
		if (!now)
			text_printf(text, "%.*s", version_len, version);
		else if (strlen(now) == (size_t)version_len && !strncmp(now, version, strlen(now)))
			text_add(text, now);
		else
			text_printf(text, "%s (built with %.*s)", now, version_len, version);
		one += len + (one[len] == ' ');
	}
	text_add_char(text, '\n');
}

static void add_optional_libraries(struct text *text)
{
	for (size_t i = 0; i < ARRAY_SIZE(optional_libraries); i++) {
		const struct optional_library *one = &optional_libraries[i];
		void *handle = dlopen(one->file, RTLD_LAZY | RTLD_LOCAL);
		const char *version =
			handle && one->function ? ask_version(handle, one->function) : NULL;
		text_printf(text, "%-14s ", one->library);
		if (!handle)
			text_printf(text, "not there (%s): no %s\n", one->file, one->use);
		else
			text_printf(text, "%s (%s)\n", version ? version : "there", one->use);
	}
}

static void add_shim(struct text *text, const struct shim *shim, const char *runtime)
{
	_cleanup_(text_deinit) struct text library;
	text_init(&library);
	if (!runtime || !shim_add_library(shim, runtime, &library))
		text_printf(&library, "not there: no functions of %s", shim->what);
	add_fact(text, shim->name, library.data ? library.data : "");
}

static void add_runtime(struct text *text)
{
	_cleanup_free_ char *path = NULL;
	_cleanup_error_ struct error *error = runtime_find(&path);
	add_fact(text, "runtime", error ? error->message : path);
	_cleanup_free_ char *file = error ? NULL : realpath(path, NULL);
	if (file && strcmp(file, path) != 0)
		add_fact(text, "", file);
	for (const struct shim *shim = shims; shim->name; shim++)
		add_shim(text, shim, error ? NULL : path);
}

static void add_paths(struct text *text)
{
	char self[4096];
	ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);
	self[n > 0 ? n : 0] = 0;
	add_fact(text, "command", n > 0 ? self : "unknown");
	add_runtime(text);
	add_fact(text, "debug files",
		access(SYMBOLS_DEBUG_FOLDER "/.build-id", X_OK) ? "none in " SYMBOLS_DEBUG_FOLDER
								: SYMBOLS_DEBUG_FOLDER);
	const char *urls = getenv("DEBUGINFOD_URLS");
	add_fact(text, "debuginfod", urls && *urls ? urls : "DEBUGINFOD_URLS is not set");
	_cleanup_free_ char *names = names_folder();
	add_fact(text, "names kept", names ? names : "nowhere");
}

/* Whether the kernel has a system call, by what it gave: a number below 0 and errno, or success. */
static void add_call(struct text *text, const char *name, long result)
{
	const char *answer = "yes";
	if (result < 0 && errno == ENOSYS)
		answer = "no";
	else if (result < 0 && errno == EPERM)
		answer = "forbidden";
	text_printf(text, "%-14s %s: %s\n", "", name, answer);
}

static void add_kernel(struct text *text)
{
	struct utsname name;
	uname(&name);
	text_printf(text, "%-14s %s %s %s\n", "kernel", name.sysname, name.release, name.machine);
	_cleanup_close_ int pidfd = (int)syscall(SYS_pidfd_open, getpid(), 0);
	add_call(text, "pidfd_open", pidfd);
	_cleanup_close_ int memory = memfd_create("heapwise-version", MFD_CLOEXEC);
	add_call(text, "memfd_create", memory);
	add_call(text, "process_vm_readv",
		syscall(SYS_process_vm_readv, getpid(), NULL, 0, NULL, 0, 0));
}

static void add_build(struct text *text)
{
	add_fact(text, "commit", HW_COMMIT);
	add_fact(text, "build", HW_BUILD_TYPE);
#ifdef __clang__
	add_fact(text, "compiler", __VERSION__);
#else
	add_fact(text, "compiler", "gcc " __VERSION__);
#endif
	const char *libc = ask_version(RTLD_DEFAULT, "gnu_get_libc_version");
	text_printf(text, "%-14s %s\n", "glibc", libc ? libc : "unknown");
}

void build_facts_add(struct text *text)
{
	add_build(text);
	add_libraries(text);
	add_optional_libraries(text);
	add_fact(text, "graphviz",
		program_in_path("dot") ? "dot is in $PATH"
				       : "no dot in $PATH: 'heapwise graph' writes no pictures");
	add_paths(text);
	add_kernel(text);
}
