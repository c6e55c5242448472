/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Makes the C library keep blocks of its own, in each way that has a built-in suppression, and
 *leaks nothing. For test_suppress_built_in:
 *
 *	library_blocks LIBRARY WAY…
 *
 * LIBRARY: path of library_blocks_tls.so.
 */
#include <arpa/nameser.h>
#include <dlfcn.h>
#include <execinfo.h>
#include <grp.h>
#include <iconv.h>
#include <libintl.h>
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

static const char *library;
static void *handle; /* stays open */
static int (*touch)(void);
static pthread_barrier_t touched;

static void open_library(void)
{
	handle = dlopen(library, RTLD_NOW);
	touch = handle ? (int (*)(void))dlsym(handle, "touch") : NULL;
	if (!touch)
		abort();
}

static void *wait_forever(void *touches)
{
	if (touches)
		touch();
	pthread_barrier_wait(&touched);
	for (;;)
		pause();
	return NULL;
}

/* A thread that lives to the end; the barrier says that it runs. */
static void start_thread(void *touches)
{
	pthread_t thread;
	pthread_barrier_init(&touched, NULL, 2);
	if (pthread_create(&thread, NULL, wait_forever, touches))
		abort();
	pthread_barrier_wait(&touched);
}

static void way_thread(void)
{
	start_thread(NULL);
}

static void way_tls(void)
{
	open_library();
	touch();
	start_thread(&touched);
}

static void way_dlopen(void)
{
	open_library();
	/* An error comes last: each call drops what is kept of the one before. */
	if (dlopen("/nonexistent/library.so", RTLD_NOW))
		abort();
}

/* Buffers of bytes and of wide characters. */
static void way_stdio(void)
{
	puts("buffered");
	fgetwc(stdin);
}

static void way_environment(void)
{
	setenv("LIBRARY_BLOCKS", "1", 1);
	setenv("LIBRARY_BLOCKS", "2", 1);
	static char pair[] = "PUT=1";
	putenv(pair);
}

static void way_unwinder(void)
{
	void *frames[4];
	backtrace(frames, 4);
}

static void way_locale(void)
{
	setlocale(LC_ALL, "C.UTF-8");
	setlocale(LC_ALL, "none.such");
	wchar_t wide[8];
	mbstowcs(wide, "\xc3\xa4", 8);
}

static void way_newlocale(void)
{
	locale_t locale = newlocale(LC_ALL_MASK, "C.UTF-8", NULL);
	if (locale)
		freelocale(locale);
}

static void way_iconv(void)
{
	iconv_t converter = iconv_open("UTF-16", "ISO-8859-15");
	if (converter != (iconv_t)-1)
		iconv_close(converter);
}

/* A catalogue of translations need not be there: that it is not is remembered, too. */
static void way_gettext(void)
{
	setlocale(LC_ALL, "C.UTF-8");
	setenv("LANGUAGE", "de", 1);
	bindtextdomain("library_blocks", "/nonexistent");
	textdomain("library_blocks");
	gettext("hello");
}

static void way_time(void)
{
	time_t now = 0;
	localtime(&now);
	static char other[] = "TZ=Europe/Berlin"; /* not by setenv(): see way_environment() */
	for (char **variable = environ; *variable; variable++)
		if (strncmp(*variable, "TZ=", 3) == 0)
			*variable = other;
	tzset();
}

static void way_users(void)
{
	getpwnam("root");
	getpwuid(0);
	getgrnam("root");
	getgrgid(0);
	getservbyname("http", "tcp");
	getprotobyname("tcp");
}

static void way_hosts(void)
{
	struct addrinfo *found = NULL;
	if (getaddrinfo("localhost", "80", NULL, &found) == 0)
		freeaddrinfo(found);
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

static const struct way {
	const char *name;
	void (*run)(void);
} ways[] = {
	{"thread", way_thread},
	{"tls", way_tls},
	{"dlopen", way_dlopen},
	{"stdio", way_stdio},
	{"environment", way_environment},
	{"unwinder", way_unwinder},
	{"locale", way_locale},
	{"newlocale", way_newlocale},
	{"iconv", way_iconv},
	{"gettext", way_gettext},
	{"time", way_time},
	{"users", way_users},
	{"hosts", way_hosts},
	{"resolver", way_resolver},
};

int main(int argc, char **argv)
{
	library = argc > 1 ? argv[1] : "";
	int found = 0;
	for (int i = 2; i < argc; i++)
		for (size_t j = 0; j < sizeof(ways) / sizeof(*ways); j++)
			if (strcmp(argv[i], ways[j].name) == 0) {
				ways[j].run();
				found++;
			}
	return found == argc - 2 ? 0 : 2;
}
