/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Runs when: a garbage collection ended (on the agent's own thread), or a profile is written.
 * May touch: the slots of live objects. Slots that are in use are only freed here, by one thread at
 * a time (the lock `command`), so they can be looked at without the lock of the tables.
 */
#include <errno.h>
#include <string.h>
#include <time.h>

#include "runtime/jvm/agent.h"

static bool object_is_gone(jvm_jni jni, void *weak)
{
	return jni_function(jni, JNI_INDEX_IS_SAME, uint8_t(*)(jvm_jni, void *, void *))(
		jni, weak, NULL);
}

static size_t live_slots(void)
{
	pthread_mutex_lock(&agent.tables_lock);
	size_t count = agent.tables.live_count;
	pthread_mutex_unlock(&agent.tables_lock);
	return count;
}

static struct sample_live live_slot(size_t slot)
{
	pthread_mutex_lock(&agent.tables_lock);
	struct sample_live live = *sample_live_at(&agent.tables, slot);
	pthread_mutex_unlock(&agent.tables_lock);
	return live;
}

static void live_delete(jvm_jni jni, size_t slot, void *weak)
{
	pthread_mutex_lock(&agent.tables_lock);
	sample_live_free(&agent.tables, slot);
	pthread_mutex_unlock(&agent.tables_lock);
	jni_function(jni, JNI_INDEX_DELETE_WEAK, void (*)(jvm_jni, void *))(jni, weak);
}

void live_sweep(jvm_jni jni)
{
	size_t count = live_slots();
	for (size_t i = 0; i < count; i++) {
		struct sample_live live = live_slot(i);
		if (live.weak && object_is_gone(jni, live.weak))
			live_delete(jni, i, live.weak);
	}
}

void live_sum(jvm_jni jni, uint32_t survived, uint64_t *ret_young)
{
	uint32_t epoch = atomic_load(&agent.epoch);
	double young = 0;
	pthread_mutex_lock(&agent.tables_lock);
	for (size_t i = 0; i < agent.tables.cell_count; i++)
		agent.tables.cells[i].live_objects = agent.tables.cells[i].live_bytes = 0;
	pthread_mutex_unlock(&agent.tables_lock);
	size_t count = live_slots();
	for (size_t i = 0; i < count; i++) {
		struct sample_live live = live_slot(i);
		uint32_t age = epoch - live.epoch;
		bool is_young = !age || age > INT32_MAX;
		if (!live.weak || (survived && (is_young || age < survived)) ||
			object_is_gone(jni, live.weak))
			continue;
		double bytes = live.weight * (double)live.size;
		young += is_young ? bytes : 0;
		pthread_mutex_lock(&agent.tables_lock);
		struct sample_cell *cell = &agent.tables.cells[live.cell - 1];
		cell->live_objects += live.weight;
		cell->live_bytes += bytes;
		pthread_mutex_unlock(&agent.tables_lock);
	}
	*ret_young = (uint64_t)young;
}

void live_drop(jvm_jni jni)
{
	size_t count = live_slots();
	for (size_t i = 0; i < count; i++) {
		struct sample_live live = live_slot(i);
		if (live.weak)
			live_delete(jni, i, live.weak);
	}
}

/* ---- The thread -------------------------------------------------------------------------------
 */

static void *sweeper_main(void *context)
{
	struct jvm_attach_arguments arguments = {JVM_VERSION_JNI, (char *)"heapwise", NULL};
	jvm_jni jni = NULL;
	(void)context;
	if (jni_function(agent.vm, JNI_INDEX_ATTACH_DAEMON,
		    int (*)(jvm_vm, jvm_jni *, struct jvm_attach_arguments *))(
		    agent.vm, &jni, &arguments))
		return NULL;
	while (!atomic_load(&agent.sweeper_ends)) {
		if (sem_wait(&agent.collected) && errno != EINTR)
			break;
		while (!sem_trywait(&agent.collected))
			;
		/* A command sweeps itself, and may wait for this thread's end. */
		if (!atomic_load(&agent.sweeper_ends) && !pthread_mutex_trylock(&agent.command)) {
			live_sweep(jni);
			pthread_mutex_unlock(&agent.command);
		}
	}
	jni_function(agent.vm, JNI_INDEX_DETACH, int (*)(jvm_vm))(agent.vm);
	return NULL;
}

bool live_sweeper_start(void)
{
	atomic_store(&agent.sweeper_ends, false);
	agent.has_sweeper = !pthread_create(&agent.sweeper, NULL, sweeper_main, NULL);
	return agent.has_sweeper;
}

void live_sweeper_end(void)
{
	if (!agent.has_sweeper)
		return;
	atomic_store(&agent.sweeper_ends, true);
	sem_post(&agent.collected);
	pthread_join(agent.sweeper, NULL);
	agent.has_sweeper = false;
}
