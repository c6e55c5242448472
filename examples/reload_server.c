/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A server that leaks at each reload, and frees everything when it ends: a search for leaks then
 * finds nothing. SIGHUP reloads, SIGTERM ends. Each says so on stdout when it is done. Between
 * reloads it answers requests, from a cache that is soon full: that one does not grow for ever.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ENTRIES = 200, CACHED = 64, REQUESTS = 6 };

struct config {
	struct config *older; /* "somebody may still use it" */
	char *entries[ENTRIES];
};

static struct config *configs;
static char *cache[CACHED];

static void load_config(int generation)
{
	struct config *config = calloc(1, sizeof(*config));

	if (!config)
		abort();
	for (int i = 0; i < ENTRIES; i++) {
		if (asprintf(&config->entries[i], "key-%04d = value-%08d", i, generation) < 0)
			abort();
	}
	config->older = configs;
	configs = config;
}

static void answer(unsigned request)
{
	char **slot = &cache[request * 7 % CACHED];

	if (!*slot)
		*slot = malloc(512);
	if (!*slot)
		abort();
	snprintf(*slot, 512, "answer to %u", request);
}

static void free_all(void)
{
	while (configs) {
		struct config *config = configs;

		configs = config->older;
		for (int i = 0; i < ENTRIES; i++)
			free(config->entries[i]);
		free(config);
	}
	for (int i = 0; i < CACHED; i++)
		free(cache[i]);
}

int main(void)
{
	sigset_t set;
	int got = SIGHUP;
	unsigned request = 0;

	sigemptyset(&set);
	sigaddset(&set, SIGHUP);
	sigaddset(&set, SIGTERM);
	sigprocmask(SIG_BLOCK, &set, NULL);
	setvbuf(stdout, NULL, _IOLBF, 0);
	for (int generation = 0; got == SIGHUP; generation++) {
		load_config(generation);
		for (int i = 0; i < REQUESTS; i++)
			answer(request++);
		printf("generation %d\n", generation);
		if (sigwait(&set, &got) != 0)
			abort();
	}
	free_all();
	printf("ended\n");
	return 0;
}
