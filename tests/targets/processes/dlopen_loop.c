/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Two plugins loaded and unloaded in turn, at the same address range (checked): the names of one
 * never stand for the code of the other.
 */
#include "truth.h"
#include <dlfcn.h>

enum { LOOPS = 30 };

struct plugin {
	const char *file, *function;
	size_t calls;
	uint64_t allocations, bytes;
	uintptr_t first_place;
	int moved;
};

static void visit(const char *folder, struct plugin *plugin)
{
	char path[4096];
	snprintf(path, sizeof path, "%s/%s", folder, plugin->file);
	void *handle = dlopen(path, RTLD_NOW);
	truth_need(handle != NULL, "dlopen");
	void *(*site)(size_t) = (void *(*)(size_t))dlsym(handle, plugin->function);
	truth_need(site != NULL, "dlsym");
	if (!plugin->first_place)
		plugin->first_place = (uintptr_t)site & ~(uintptr_t)4095;
	plugin->moved |= plugin->first_place != ((uintptr_t)site & ~(uintptr_t)4095);
	for (size_t i = 0; i < plugin->calls; i++) {
		size_t bytes = 21 + 2 * (plugin->allocations % 500);
		plugin->allocations++;
		plugin->bytes += bytes;
		free(site(bytes));
	}
	truth_need(!dlclose(handle), "dlclose");
}

int main(int count, char **arguments)
{
	char folder[4096];
	truth_need(count >= 1, "name");
	ssize_t length = readlink("/proc/self/exe", folder, sizeof folder - 1);
	truth_need(length > 0 && arguments[0], "exe");
	folder[length] = 0;
	*strrchr(folder, '/') = 0;
	struct plugin one = {"libplugin_one.so", "plugin_one_site", 7, 0, 0, 0, 0};
	struct plugin two = {"libplugin_two.so", "plugin_two_site", 11, 0, 0, 0, 0};
	for (size_t i = 0; i < LOOPS; i++) {
		visit(folder, &one);
		visit(folder, &two);
	}
	truth_need(one.first_place == two.first_place && !one.moved && !two.moved,
		"the plugins did not land on the same range");
	for (struct plugin *plugin = &one;; plugin = &two) {
		truth_say("# expect: site=%s allocations=%lu allocated_bytes=%lu live_blocks=0 "
			  "live_bytes=0 temporary=%lu",
			plugin->function, (unsigned long)plugin->allocations,
			(unsigned long)plugin->bytes, (unsigned long)plugin->allocations);
		truth_say("# expect: module site=%s module=%s", plugin->function, plugin->file);
		if (plugin == &two)
			break;
	}
	truth_end(TRUTH_PLAIN);
	return 0;
}
