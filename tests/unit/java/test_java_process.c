/* SPDX-License-Identifier: GPL-2.0-or-later */
/* JVMs from outside: their names, and what they and the agent answer. */
#include "base/cleanup.h"
#include "lib/tap.h"
#include "process/java_agent.h"
#include "process/java_attach.h"

#define NAME(words) java_main_name(words, sizeof(words) - 1)

static void check_name(char *name, const char *expected)
{
	if (!expected)
		CHECK(!name);
	else
		CHECK_STR(name, expected);
	free(name);
}

CASE(names, "a JVM is called by its main class or jar")
{
	check_name(NAME("java\0Main\0"), "Main");
	check_name(NAME("java\0-Xmx1g\0-cp\0a:b\0com.example.Main\0-jar\0"), "com.example.Main");
	check_name(NAME("java\0-Da=b\0-jar\0/opt/x/shop.jar\0serve\0"), "shop.jar");
	check_name(NAME("java\0--module-path\0mods\0-m\0app/com.example.Main\0"),
		"app/com.example.Main");
	check_name(NAME("java\0@options\0Main\0"), "Main");
}

CASE(names_none, "where there is none, that is said")
{
	check_name(NAME(""), NULL);
	check_name(NAME("java\0"), NULL);
	check_name(NAME("java\0-cp\0"), NULL);
	check_name(NAME("java\0-jar\0"), NULL);
	check_name(NAME("java\0-version\0"), NULL);
	check_name(NAME("java\0-cp\0x\0Ma"), NULL);
}

#define MAIN_PLACE(words)                                                                          \
	(java_main_word(words, sizeof(words) - 1)                                                  \
			? java_main_word(words, sizeof(words) - 1) - (words)                       \
			: -1)

CASE(main_words, "the word that ends the options of a JVM is found")
{
	static const char plain[] = "java\0-cp\0a\0Main\0-jar\0",
			  jar[] = "java\0-Dx\0-jar\0a.jar\0";
	static const char file[] = "java\0@all\0", none[] = "java\0";
	CHECK(MAIN_PLACE(plain) == 11);
	CHECK(MAIN_PLACE(jar) == 9);
	CHECK(MAIN_PLACE(file) == -1);
	CHECK(MAIN_PLACE(none) == -1);
}

CASE(answers, "an answer has a status and text")
{
	int status;
	const char *text;
	CHECK_OK(java_answer_split("0\nreturn code: 0\n", &status, &text));
	CHECK(status == 0);
	CHECK_STR(text, "return code: 0\n");
	CHECK_OK(java_answer_split("101", &status, &text));
	CHECK(status == 101);
	CHECK_STR(text, "");
	CHECK_ERROR(java_answer_split("", &status, &text), ERROR_ENVIRONMENT, "no status");
	CHECK_ERROR(java_answer_split("x\n", &status, &text), ERROR_ENVIRONMENT, "'x");
	CHECK_ERROR(java_answer_split("0x\n", &status, &text), ERROR_ENVIRONMENT, "no status");
	CHECK_ERROR(
		java_answer_split("99999999999\n", &status, &text), ERROR_ENVIRONMENT, "no status");
}

#define COUNT(words) java_options_count(words, sizeof(words) - 1)

CASE(options, "an option may stand before the main class, and before a file that may have it")
{
	CHECK_U64(COUNT("java\0"), 1);
	CHECK_U64(COUNT("java\0-version\0"), 2);
	CHECK_U64(COUNT("java\0-cp\0a\0-Xint\0Main\0-Xint\0"), 4);
	CHECK_U64(COUNT("java\0-Xint\0-jar\0a.jar\0"), 2);
	CHECK_U64(COUNT("java\0-Xint\0@file\0-Xint\0Main\0"), 2);
	CHECK_U64(COUNT("java\0-Xint\0-cp\0@file\0Main\0"), 2);
	CHECK_U64(COUNT("java\0-Xint\0-cp\0"), 2);
}

#define STATE                                                                                      \
	"ok\nrecording=1\nstarted=1\ninterval=65536\ndepth=256\nfollows_live=1\nsamples=12\n"      \
	"lost=1\ncut=2\ncollections=3\nlive=4\nmemory=5\nrecorded_ns=6\n"

CASE(agent, "what the agent answers is read")
{
	struct java_agent_state state;
	CHECK_OK(java_agent_parse(STATE, &state));
	CHECK(state.is_recording && state.has_recorded && state.follows_live);
	CHECK_U64(state.interval, 65536);
	CHECK_U64(state.lost, 1);
	CHECK_U64(state.recorded_ns, 6);
	CHECK_U64(state.young_bytes, 0);
	CHECK_OK(java_agent_parse(STATE "young_bytes=77\n", &state));
	CHECK_U64(state.young_bytes, 77);
}

CASE(agent_errors, "errors of the agent are passed on, and other text is refused")
{
	struct java_agent_state state;
	CHECK_ERROR(java_agent_parse("error\nit is not being recorded\n", &state),
		ERROR_ENVIRONMENT, "it is not being recorded");
	CHECK(!java_agent_is_later("error\nlater\n") && java_agent_is_later("later\nnot ready\n"));
	CHECK_ERROR(java_agent_parse("later\nnot ready\n", &state), ERROR_ENVIRONMENT, "not ready");
	CHECK_ERROR(java_agent_parse("", &state), ERROR_ENVIRONMENT, "can't be understood");
	CHECK_ERROR(java_agent_parse("ok\n", &state), ERROR_ENVIRONMENT, "'recording'");
	CHECK_ERROR(
		java_agent_parse("ok\nrecording=x\n", &state), ERROR_ENVIRONMENT, "'recording'");
}

CASE(agent_cut, "an answer that is cut off, or damaged, is refused or read")
{
	for (size_t i = 0; i < sizeof(STATE) - 2; i++) {
		struct java_agent_state state;
		char text[] = STATE;
		text[i] = '\0';
		CHECK_ERROR(java_agent_parse(text, &state), ERROR_ENVIRONMENT, "agent");
		strcpy(text, STATE);
		text[i] = (char)(i * 37 % 255 + 1);
		error_destroy(java_agent_parse(text, &state));
	}
}

TAP_MAIN
