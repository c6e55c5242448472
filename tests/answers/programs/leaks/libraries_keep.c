/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Makes the C library keep blocks of its own, a way a word, and frees all that is the program's:
 *
 *	libraries_keep WORD…
 */
#define _GNU_SOURCE
#include <arpa/nameser.h>
#include <dlfcn.h>
#include <grp.h>
#include <iconv.h>
#include <locale.h>
#include <netdb.h>
#include <netinet/in.h>
#include <pthread.h>
#include <pwd.h>
#include <resolv.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include <wchar.h>

static pid_t ids[3];

static void *work(void *id)
{
	*(pid_t *)id = gettid();
	return NULL;
}

static void way_threads(void)
{
	pthread_t threads[3];
	for (int i = 0; i < 3; i++)
		pthread_create(&threads[i], NULL, work, &ids[i]);
	for (int i = 0; i < 3; i++)
		pthread_join(threads[i], NULL);
}

/* What is lost with them is the program's. */
static void way_never_joined(void)
{
	pthread_t threads[3];
	for (int i = 0; i < 3; i++)
		pthread_create(&threads[i], NULL, work, &ids[i]);
	for (int i = 0; i < 3; i++) {
		char path[64];
		pid_t id;
		while ((id = *(volatile pid_t *)&ids[i]) == 0)
			usleep(100);
		snprintf(path, sizeof(path), "/proc/self/task/%d", (int)id);
		while (access(path, F_OK) == 0)
			usleep(100);
	}
}

static void way_passwd(void)
{
	getpwnam("root");
}

static void way_passwd_id(void)
{
	getpwuid(0);
}

static void way_group(void)
{
	getgrnam("root");
}

static void way_address(void)
{
	struct addrinfo *found = NULL;
	if (getaddrinfo("localhost", "80", NULL, &found) == 0)
		freeaddrinfo(found);
}

static void way_numeric(void)
{
	struct addrinfo *found = NULL, hints = {.ai_flags = AI_NUMERICHOST};
	if (getaddrinfo("127.0.0.1", "80", &hints, &found) == 0)
		freeaddrinfo(found);
}

static void way_host(void)
{
	gethostbyname("localhost");
}

/* Asks a server that isn't there, which is known at once. */
static void way_resolver(void)
{
	unsigned char answer[512];
	res_init();
	_res.nscount = 1;
	_res.nsaddr_list[0] = (struct sockaddr_in){.sin_family = AF_INET,
		.sin_port = htons(1),
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	res_search("heapwise.invalid", ns_c_in, ns_t_a, answer, sizeof(answer));
}

static void way_service(void)
{
	getservbyname("http", "tcp");
}

static void way_library(void)
{
	dlopen("libm.so.6", RTLD_NOW);
	dlopen("libz.so.1", RTLD_NOW);
}

/* libstdc++ has a pair of words for each thread. */
static void way_late_storage(void)
{
	void *library = dlopen("libstdc++.so.6", RTLD_NOW);
	void *(*globals)(void) = (void *(*)(void))dlsym(library, "__cxa_get_globals");
	globals();
}

static void way_library_error(void)
{
	dlopen("/nonexistent/library.so", RTLD_NOW);
}

static void way_iconv(void)
{
	iconv_t converter = iconv_open("UTF-16", "ISO-8859-15");
	if (converter != (iconv_t)-1)
		iconv_close(converter);
}

static void way_locale(void)
{
	setlocale(LC_ALL, "C.UTF-8");
	setlocale(LC_ALL, "none.such");
}

static void way_wide(void)
{
	wchar_t wide[8];
	setlocale(LC_ALL, "C.UTF-8");
	mbstowcs(wide, "\xc3\xa4", 8);
}

static void way_zone(void)
{
	tzset();
}

static void way_local_time(void)
{
	time_t now = 0;
	localtime(&now);
}

static void way_named_zone(void)
{
	putenv("TZ=Europe/Berlin");
	time_t now = 0;
	localtime(&now);
}

static void way_environment(void)
{
	setenv("LIBRARY_BLOCKS", "1", 1);
}

static const struct way {
	const char *word;
	void (*go)(void);
} ways[] = {
	{"threads", way_threads},
	{"never-joined", way_never_joined},
	{"passwd", way_passwd},
	{"passwd-id", way_passwd_id},
	{"group", way_group},
	{"address", way_address},
	{"numeric", way_numeric},
	{"host", way_host},
	{"resolver", way_resolver},
	{"service", way_service},
	{"library", way_library},
	{"late-storage", way_late_storage},
	{"library-error", way_library_error},
	{"iconv", way_iconv},
	{"locale", way_locale},
	{"wide", way_wide},
	{"zone", way_zone},
	{"local-time", way_local_time},
	{"named-zone", way_named_zone},
	{"environment", way_environment},
};

int main(int argc, char **argv)
{
	for (int i = 1; i < argc; i++)
		for (size_t k = 0; k < sizeof(ways) / sizeof(*ways); k++)
			if (strcmp(argv[i], ways[k].word) == 0)
				ways[k].go();
	return 0;
}
