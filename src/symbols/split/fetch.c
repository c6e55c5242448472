/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "symbols/split/fetch.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define LIBRARY "libdebuginfod.so.1"
#define SENTENCE_MAX 256

/* As in <elfutils/debuginfod.h>, which is in a package that nothing else needs. */
typedef struct debuginfod_client client;
typedef client *begin_fn(void);
typedef void end_fn(client *);
typedef int find_fn(client *, const unsigned char *id, int len, char **path);
typedef int progress_fn(client *, long, long);
typedef void set_progress_fn(client *, progress_fn *);
typedef void set_data_fn(client *, void *);
typedef void *get_data_fn(client *);

struct fetch {
	struct fetch_listener listener;
	void *library; /* NULL: not loaded yet */
	client *client;
	end_fn *end;
	find_fn *find_debug_file;
	uint64_t left_ns;     /* of the time that all files may take */
	uint64_t deadline_ns; /* of the file that is asked for */
	bool ended;           /* no server is asked any more */
};

static uint64_t now_ns(void)
{
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

struct error *fetch_create(
	unsigned seconds, const struct fetch_listener *listener, struct fetch **ret)
{
	struct fetch *fetch = calloc(1, sizeof(*fetch));
	if (!fetch)
		return error_no_memory();
	fetch->listener = *listener;
	fetch->left_ns = seconds * 1000000000ull;
	*ret = fetch;
	return NULL;
}

void fetch_destroy(struct fetch *fetch)
{
	if (!fetch)
		return;
	if (fetch->client)
		fetch->end(fetch->client);
	/* The library stays: what it is made of has ends of its own at exit. */
	free(fetch);
}

static void show_progress(const struct fetch *fetch, const char *name)
{
	if (fetch->listener.progress)
		fetch->listener.progress(fetch->listener.ctx, name);
}

static void give_up(struct fetch *fetch, const char *name, const char *why)
{
	char sentence[SENTENCE_MAX];
	snprintf(sentence, sizeof(sentence), "%.64s: %.100s; no more debug files are requested",
		name, why);
	fetch->ended = true;
	if (fetch->listener.problem)
		fetch->listener.problem(fetch->listener.ctx, sentence);
}

/* A function of the library as the type of its caller has it; POSIX wants them to be alike. */
static bool find_function(void *library, const char *name, void *ret)
{
	void *found = dlsym(library, name);
	memcpy(ret, &found, sizeof(found));
	return found;
}

/* Called several times a second; the client stops when it is not 0. */
static int is_over(client *asking, long done, long whole)
{
	(void)done, (void)whole;
	/* The client is all that is handed over, and loaded for sure. */
	void *library = dlopen(LIBRARY, RTLD_NOW | RTLD_NOLOAD);
	get_data_fn *get;
	bool found = library && find_function(library, "debuginfod_get_user_data", &get);
	const struct fetch *fetch = found ? get(asking) : NULL;
	if (library)
		dlclose(library);
	return fetch && now_ns() > fetch->deadline_ns;
}

static bool fetch_load(struct fetch *fetch)
{
	const char *urls = getenv("DEBUGINFOD_URLS");
	if (!urls || !urls[0]) {
		give_up(fetch, "debuginfod", "DEBUGINFOD_URLS names no server");
		return false;
	}
	fetch->library = dlopen(LIBRARY, RTLD_NOW);
	begin_fn *begin;
	set_progress_fn *set_progress;
	set_data_fn *set_data;
	if (!fetch->library || !find_function(fetch->library, "debuginfod_begin", &begin) ||
		!find_function(fetch->library, "debuginfod_end", &fetch->end) ||
		!find_function(
			fetch->library, "debuginfod_find_debuginfo", &fetch->find_debug_file) ||
		!find_function(fetch->library, "debuginfod_set_progressfn", &set_progress) ||
		!find_function(fetch->library, "debuginfod_set_user_data", &set_data)) {
		give_up(fetch, LIBRARY, "it is not installed (apt install libdebuginfod1)");
		return false;
	}
	fetch->client = begin();
	if (!fetch->client) {
		give_up(fetch, LIBRARY, "it can't be initialised");
		return false;
	}
	set_data(fetch->client, fetch);
	set_progress(fetch->client, is_over);
	return true;
}

char *fetch_debug_file(
	struct fetch *fetch, const uint8_t *build_id, size_t build_id_len, const char *name)
{
	if (fetch->ended || !build_id_len || (!fetch->client && !fetch_load(fetch)))
		return NULL;
	show_progress(fetch, name);
	uint64_t begun_ns = now_ns();
	fetch->deadline_ns = begun_ns + fetch->left_ns;
	char *path = NULL;
	int fd = fetch->find_debug_file(fetch->client, build_id, (int)build_id_len, &path);
	uint64_t took_ns = now_ns() - begun_ns;
	fetch->left_ns -= took_ns < fetch->left_ns ? took_ns : fetch->left_ns;
	show_progress(fetch, NULL);
	if (fd >= 0) {
		close(fd);
		return path;
	}
	free(path);
	/* That no server has it is no failure. */
	if (now_ns() >= fetch->deadline_ns)
		give_up(fetch, name, "servers took too long");
	else if (fd != -ENOENT)
		give_up(fetch, name, strerror(-fd));
	return NULL;
}
