/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Runs when: the JVM allocated an object that it samples, on the thread that allocates it; after a
 * garbage collection, on one of the JVM's own. May touch: the agent's tables, under their lock.
 *
 * Nothing here makes a Java object, so no sample causes another.
 */
#include <stdlib.h>
#include <string.h>

#include "runtime/jvm/agent.h"
#include "runtime/jvm/names.h"

struct sampled {
	struct jvm_frame *frames;
	int32_t count;
	char class_name[JAVA_NAME_MAX];
	char thread_name[JAVA_NAME_MAX];
	void *weak;
	uint64_t size;
	uint64_t interval; /* that it was drawn at */
};

static void sampled_class(jvm_tool tool, jvm_object class, struct sampled *ret)
{
	char *signature = NULL;
	strcpy(ret->class_name, "(unknown class)");
	if (jvm_function(tool, JVM_GET_CLASS_SIGNATURE,
		    int (*)(jvm_tool, jvm_object, char **, char **))(tool, class, &signature, NULL))
		return;
	class_name(signature, ret->class_name, sizeof(ret->class_name));
	jvm_free(tool, signature);
}

static void local_delete(jvm_jni jni, jvm_object object)
{
	if (object)
		jni_function(jni, JNI_INDEX_DELETE_LOCAL, void (*)(jvm_jni, jvm_object))(
			jni, object);
}

static void sampled_thread(jvm_tool tool, jvm_jni jni, jvm_object thread, struct sampled *ret)
{
	struct jvm_thread_info info = {0};
	strcpy(ret->thread_name, "[thread without a name]");
	if (jvm_function(tool, JVM_GET_THREAD_INFO,
		    int (*)(jvm_tool, jvm_object, struct jvm_thread_info *))(tool, thread, &info))
		return;
	if (info.name && *info.name) {
		size_t len = strnlen(info.name, sizeof(ret->thread_name) - 3);
		ret->thread_name[0] = '[';
		memcpy(ret->thread_name + 1, info.name, len);
		strcpy(ret->thread_name + 1 + len, "]");
	}
	jvm_free(tool, info.name);
	local_delete(jni, info.group);
	local_delete(jni, info.loader);
}

/* Adds a method that the tables don't know; no lock is held. */
static bool method_learn(jvm_tool tool, jvm_jni jni, jvm_method method)
{
	struct method_names *names = malloc(sizeof(*names));
	if (!names)
		return false;
	names_of_method(tool, jni, method, names);
	pthread_mutex_lock(&agent.tables_lock);
	struct sample_tables *tables = &agent.tables;
	if (!agent.has_tables) {
		pthread_mutex_unlock(&agent.tables_lock);
		free(names->lines);
		free(names);
		return false;
	}
	struct sample_function row = {.method = method,
		.name = sample_string(tables, names->name),
		.short_name = sample_string(tables, names->name + names->package_len),
		.full_name = sample_string(tables, names->full_name),
		.file = sample_string(tables, names->file),
		.lines = names->lines,
		.line_count = names->line_count};
	bool is_known = sample_method_add(tables, &row) != 0;
	pthread_mutex_unlock(&agent.tables_lock);
	free(names);
	return is_known;
}

/* The first frame whose method the tables don't know; NULL: there is none. */
static jvm_method method_unknown(const struct sampled *sampled)
{
	for (int32_t i = 0; i < sampled->count; i++)
		if (!sample_method_find(&agent.tables, sampled->frames[i].method))
			return sampled->frames[i].method;
	return NULL;
}

/* The node of the stack with the class as its innermost frame; 0: there was no memory. */
static uint32_t sampled_node(const struct sampled *sampled)
{
	struct sample_tables *tables = &agent.tables;
	uint32_t node = 0;
	if (*sampled->thread_name) {
		uint32_t name = sample_name(tables, sampled->thread_name, sampled->thread_name);
		node = name ? sample_node(tables, 0, name, 0) : 0;
		if (!node)
			return 0;
	}
	if (sampled->count == (int32_t)agent.settings.depth) {
		const char *name = "(callers beyond the depth limit, or none)";
		uint32_t function = sample_name(tables, name, name);
		node = function ? sample_node(tables, node, function, 0) : 0;
		if (!node)
			return 0;
	}
	for (int32_t i = sampled->count - 1; i >= 0; i--) {
		uint32_t function = sample_method_find(tables, sampled->frames[i].method);
		node = function ? sample_node(tables, node, function,
					  sample_line_of(&tables->functions[function],
						  sampled->frames[i].location))
				: 0;
		if (!node)
			return 0;
	}
	uint32_t class =
		sample_name(tables, sampled->class_name, class_short_name(sampled->class_name));
	return class ? sample_node(tables, node, class, 0) : 0;
}

/* The lock is held, and all methods are known. False: there was no memory. */
static bool sampled_count(struct sampled *sampled)
{
	struct sample_tables *tables = &agent.tables;
	uint32_t node = sampled_node(sampled);
	uint32_t id = node ? sample_cell(tables, node, sampled->size) : 0;
	if (!id)
		return false;
	double weight = sample_weight(sampled->size, sampled->interval);
	if (sampled->weak) {
		const struct sample_live live = {
			sampled->weak, id, atomic_load(&agent.epoch), sampled->size, weight};
		if (!sample_live_add(tables, &live))
			return false;
		sampled->weak = NULL;
	}
	struct sample_cell *cell = &tables->cells[id - 1];
	cell->objects += weight;
	cell->bytes += weight * (double)sampled->size;
	cell->samples++;
	agent.all_bytes += weight * (double)sampled->size;
	if (sampled->interval > agent.settings.interval) {
		agent.early++;
		agent.early_bytes += weight * (double)sampled->size;
	}
	return true;
}

/* What was recorded, once all methods are known. */
static bool sampled_keep(jvm_tool tool, jvm_jni jni, struct sampled *sampled)
{
	for (;;) {
		pthread_mutex_lock(&agent.tables_lock);
		bool is_recording = agent.has_tables && atomic_load(&agent.is_recording);
		jvm_method unknown = is_recording ? method_unknown(sampled) : NULL;
		bool is_kept = !is_recording || unknown || sampled_count(sampled);
		pthread_mutex_unlock(&agent.tables_lock);
		if (!unknown)
			return is_kept;
		if (!method_learn(tool, jni, unknown))
			return false;
	}
}

void sampling_object(jvm_tool tool, jvm_jni jni, jvm_object thread, jvm_object object,
	jvm_object class, int64_t size)
{
	if (!atomic_load(&agent.is_recording) || size <= 0)
		return;
	unsigned depth = agent.settings.depth;
	struct sampled *sampled = calloc(1, sizeof(*sampled));
	struct jvm_frame *frames = malloc(depth * sizeof(*frames));
	bool is_kept = false;
	atomic_fetch_add(&agent.samples, 1);
	if (sampled && frames) {
		sampled->frames = frames;
		sampled->size = (uint64_t)size;
		sampled->interval = thread_drawn(tool, thread);
		if (jvm_function(tool, JVM_GET_STACK_TRACE,
			    int (*)(jvm_tool, jvm_object, int32_t, int32_t, struct jvm_frame *,
				    int32_t *))(
			    tool, thread, 0, (int32_t)depth, frames, &sampled->count))
			sampled->count = 0;
		if (sampled->count == (int32_t)depth)
			atomic_fetch_add(&agent.cut, 1);
		sampled_class(tool, class, sampled);
		if (agent.settings.has_threads)
			sampled_thread(tool, jni, thread, sampled);
		if (agent.settings.has_live)
			sampled->weak = jni_function(jni, JNI_INDEX_NEW_WEAK,
				void *(*)(jvm_jni, jvm_object))(jni, object);
		is_kept = sampled_keep(tool, jni, sampled) &&
			  (!agent.settings.has_live || !sampled->weak ||
				  !atomic_load(&agent.is_recording));
		if (sampled->weak)
			jni_function(jni, JNI_INDEX_DELETE_WEAK, void (*)(jvm_jni, void *))(
				jni, sampled->weak);
	}
	if (!is_kept)
		atomic_fetch_add(&agent.lost, 1);
	free(frames);
	free(sampled);
}

/* On a thread of the JVM while it stands still: only this. */
void sampling_collected(jvm_tool tool)
{
	(void)tool;
	atomic_fetch_add(&agent.epoch, 1);
	sem_post(&agent.collected);
}
