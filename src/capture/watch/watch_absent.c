/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Of builds without clang or the headers of libbpf: nothing can be watched, and that is said. */
#include "capture/growth.h"
#include "capture/watch.h"

struct error *watch_open(const struct watch_options *options, struct watch **ret)
{
	(void)options;
	(void)ret;
	return error_create(ERROR_ENVIRONMENT,
		"this heapwise was built without 'watch' (it needs clang and libbpf-dev when it is "
		"built: meson configure -Dwatch=enabled); 'heapwise attach' records a running "
		"process without it");
}

struct error *watch_spawn(char *const *argv, pid_t *ret)
{
	(void)argv;
	(void)ret;
	return watch_open(NULL, NULL);
}

struct error *watch_release(pid_t pid)
{
	(void)pid;
	return NULL;
}

void watch_spawn_drop(pid_t pid)
{
	(void)pid;
}

void watch_close(struct watch *watch)
{
	(void)watch;
}

/* Nobody has a watch to call these with. */
struct error *watch_poll(struct watch *watch, bool *ret_ended)
{
	(void)watch;
	*ret_ended = true;
	return NULL;
}

int watch_fd(const struct watch *watch)
{
	(void)watch;
	return -1;
}

void watch_stop(struct watch *watch)
{
	(void)watch;
}

struct error *watch_look(struct watch *watch, uint64_t older_ns)
{
	(void)watch;
	(void)older_ns;
	return NULL;
}

static const struct watch_stacks no_stacks;
static const struct watch_losses no_losses;
static const struct watch_lives no_lives;
static const struct watch_modules no_modules;

const struct watch_stacks *watch_stacks_get(const struct watch *watch)
{
	(void)watch;
	return &no_stacks;
}

const struct watch_losses *watch_losses_get(const struct watch *watch)
{
	(void)watch;
	return &no_losses;
}

void watch_keep_blocks(struct watch *watch)
{
	(void)watch;
}

const struct watch_lives *watch_lives_get(const struct watch *watch)
{
	(void)watch;
	return &no_lives;
}

const struct watch_modules *watch_modules_get(const struct watch *watch)
{
	(void)watch;
	return &no_modules;
}

size_t watch_modules_find(const struct watch_modules *modules, uint64_t address)
{
	(void)modules;
	(void)address;
	return SIZE_MAX;
}

bool watch_is_kernel(const struct watch *watch)
{
	(void)watch;
	return false;
}

const char *watch_way_name(const struct watch *watch)
{
	(void)watch;
	return "";
}

void watch_probes(const struct watch *watch, size_t *ret_functions, size_t *ret_files)
{
	(void)watch;
	*ret_functions = 0;
	*ret_files = 0;
}

struct error *growth_open(pid_t pid, struct growth **ret)
{
	(void)pid;
	(void)ret;
	return watch_open(NULL, NULL);
}

void growth_close(struct growth *growth)
{
	(void)growth;
}

/* Nobody has a growth to call these with. */
struct error *growth_poll(struct growth *growth, bool *ret_ended)
{
	(void)growth;
	*ret_ended = true;
	return NULL;
}

int growth_fd(const struct growth *growth)
{
	(void)growth;
	return -1;
}

struct error *growth_look(struct growth *growth)
{
	(void)growth;
	return NULL;
}

static const struct growth_stacks no_growth_stacks;
static const struct growth_sums no_growth_sums;
static const struct growth_losses no_growth_losses;

const struct growth_stacks *growth_stacks_get(const struct growth *growth)
{
	(void)growth;
	return &no_growth_stacks;
}

const struct growth_sums *growth_sums_get(const struct growth *growth)
{
	(void)growth;
	return &no_growth_sums;
}

const struct growth_losses *growth_losses_get(const struct growth *growth)
{
	(void)growth;
	return &no_growth_losses;
}

const struct watch_modules *growth_modules_get(const struct growth *growth)
{
	(void)growth;
	return &no_modules;
}

uint64_t watch_replaced_ns(const struct watch *watch)
{
	(void)watch;
	return 0;
}
