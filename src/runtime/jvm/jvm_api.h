/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What the agent needs of the JVM Tool Interface and of JNI, so that heapwise builds without a JDK.
 * Both are tables of functions; a place in them is part of the specification and never changes:
 *
 *	"JVM Tool Interface", version 11, chapter "Function Index" with the positions of the
 *	function table: docs.oracle.com/en/java/javase/11/docs/specs/jvmti.html
 *	"Java Native Interface Specification", chapter 4 (indices in the JNIEnv interface function
 *	table) and chapter 5 (invocation interface)
 *
 * JVM TI counts positions from 1 (jvm_function()), JNI counts indices from 0 (jni_function()).
 * tests/unit/java/test_jvm_api.c compares all of this with a JDK's jvmti.h where there is one.
 */
#ifndef RUNTIME_JVM_API_H
#define RUNTIME_JVM_API_H

#include <assert.h>
#include <stdint.h>

typedef void *const *const *jvm_tool; /* jvmtiEnv */
typedef void *const *const *jvm_jni;  /* JNIEnv */
typedef void *const *const *jvm_vm;   /* JavaVM */
typedef struct jvm_object_ *jvm_object;
typedef struct jvm_method_ *jvm_method;

#define JNI_INDEX_GET_ENV 6       /* JavaVM */
#define JNI_INDEX_ATTACH_DAEMON 7 /* JavaVM: AttachCurrentThreadAsDaemon */
#define JNI_INDEX_DETACH 5        /* JavaVM */
#define JNI_INDEX_DELETE_LOCAL 23
#define JNI_INDEX_IS_SAME 24
#define JNI_INDEX_NEW_WEAK 226
#define JNI_INDEX_DELETE_WEAK 227

enum jvm_position {
	JVM_SET_EVENT_MODE = 2,
	JVM_GET_ALL_THREADS = 4,
	JVM_GET_THREAD_INFO = 9,
	JVM_DEALLOCATE = 47,
	JVM_GET_CLASS_SIGNATURE = 48,
	JVM_GET_SOURCE_FILE = 50,
	JVM_GET_METHOD_NAME = 64,
	JVM_GET_METHOD_CLASS = 65,
	JVM_GET_LINES = 70,
	JVM_GET_THREAD_STORAGE = 102,
	JVM_SET_THREAD_STORAGE = 103,
	JVM_GET_STACK_TRACE = 104,
	JVM_FORCE_COLLECTION = 108,
	JVM_SET_CALLBACKS = 122,
	JVM_ADD_CAPABILITIES = 142,
	JVM_RELINQUISH_CAPABILITIES = 143,
	JVM_SET_SAMPLING_INTERVAL = 156,
};

#define JVM_VERSION_11 0x300B0000
#define JVM_VERSION_JNI 0x00010006
#define JVM_NOT_AVAILABLE 98 /* JVMTI_ERROR_NOT_AVAILABLE */

#define JVM_ENABLE 1
#define JVM_DISABLE 0

enum jvm_event {
	JVM_EVENT_FIRST = 50,
	JVM_EVENT_READY = 50,     /* VMInit */
	JVM_EVENT_DEATH = 51,     /* VMDeath */
	JVM_EVENT_COLLECTED = 82, /* GarbageCollectionFinish */
	JVM_EVENT_SAMPLED = 86,
	JVM_EVENT_LAST = 88,
};

/* jvmtiCapabilities: bits from the lowest one of the first byte on. */
struct jvm_capabilities {
	uint32_t bits[4];
};
enum jvm_capability {
	JVM_CAN_GET_SOURCE_FILE = 11,
	JVM_CAN_GET_LINES = 12,
	JVM_CAN_SEE_COLLECTIONS = 31,
	JVM_CAN_SAMPLE = 43,
	JVM_CAN_VIRTUAL_THREADS = 44, /* from 21 on */
};

struct jvm_frame {
	jvm_method method;
	int64_t location; /* bytecode index; -1: a native method */
};

struct jvm_line {
	int64_t start;
	int32_t line;
};

struct jvm_thread_info {
	char *name;
	int32_t priority;
	uint8_t is_daemon;
	jvm_object group, loader;
};

struct jvm_attach_arguments {
	int32_t version;
	char *name;
	jvm_object group;
};

static_assert(sizeof(struct jvm_capabilities) == 16, "jvmtiCapabilities has 128 bits");
static_assert(sizeof(struct jvm_frame) == 16, "jvmtiFrameInfo of a 64-bit JVM");
static_assert(sizeof(struct jvm_line) == 16, "jvmtiLineNumberEntry");

/* The function of that position (JVM TI) or index (JNI), as a pointer to `type`. */
#define jvm_function(tool, position, type) ((type)(uintptr_t)(*(tool))[(position)-1])
#define jni_function(table, index, type) ((type)(uintptr_t)(*(table))[index])

#endif
