/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * exec_forms: becomes, in a child each, the program "exec_forms show FORM …" by every form of exec
 * and posix_spawn, with environments that hold nothing of ours; and tries what has to fail. What
 * the children are given and what comes back is printed: it is the same under a recorder, but for
 * what the recorder adds to the environment.
 *
 * Arguments: a script without #! to start, a folder of this program for a search by PATH.
 */
#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define MANY 700

extern char **environ;

static const char *self, *script;
static char *few[] = {(char *)"A=1", (char *)"LD_PRELOAD=", (char *)"B=x y", NULL};
static char *many[MANY + 1];
static char *none[] = {NULL};

static void print(const char *what, const char *text)
{
	dprintf(STDOUT_FILENO, "%s %s\n", what, text);
}

static int show(char **argv)
{
	for (; *argv; argv++)
		print("argument", *argv);
	for (char **e = environ; *e; e++) {
		if (strncmp(*e, "LD_PRELOAD=", 11) && strncmp(*e, "HEAPWISE_", 9))
			print("variable", *e);
	}
	void *volatile block = malloc(3307);
	free(block);
	return 0;
}

#define ARGV(form)                                                                                 \
	(char *[])                                                                                 \
	{                                                                                          \
		(char *)"exec_forms", (char *)"show", (char *)form, (char *)"a b", (char *)"",     \
			NULL                                                                       \
	}

static int form_execve(void)
{
	return execve(self, ARGV("execve"), few);
}

static int form_execve_many(void)
{
	return execve(self, ARGV("execve many"), many);
}

static int form_execve_null(void)
{
	char **volatile nothing = NULL;
	return execve(self, ARGV("execve null"), nothing);
}

static int form_execv(void)
{
	environ = few;
	return execv(self, ARGV("execv"));
}

static int form_execvp(void)
{
	environ = few;
	return execvp("exec_forms", ARGV("execvp"));
}

static int form_execvp_path(void)
{
	char path[4096];
	snprintf(path, sizeof(path), "PATH=%.*s", (int)(strrchr(self, '/') - self), self);
	environ = (char *[]){path, NULL};
	return execvp("exec_forms", ARGV("execvp path"));
}

static int form_execvpe(void)
{
	return execvpe(self, ARGV("execvpe"), none);
}

static int form_execl(void)
{
	environ = NULL;
	return execl(self, "exec_forms", "show", "execl", "a b", "", "4", "5", "6", "7", "8",
		(char *)NULL);
}

static int form_execlp(void)
{
	clearenv();
	return execlp(self, "exec_forms", "show", "execlp", "a b", (char *)NULL);
}

static int form_execle(void)
{
	return execle(
		self, "exec_forms", "show", "execle", "a b", "4", "5", "6", "7", (char *)NULL, few);
}

static int form_fexecve(void)
{
	return fexecve(open(self, O_RDONLY | O_CLOEXEC), ARGV("fexecve"), few);
}

static int form_execveat(void)
{
	return execveat(AT_FDCWD, self, ARGV("execveat"), few, 0);
}

static int form_missing(void)
{
	return execve("/nonexistent/program", ARGV("missing"), none);
}

static int form_script_execve(void)
{
	return execve(script, ARGV("script execve"), none);
}

static int form_script_execvp(void)
{
	environ = none;
	return execvp(script, ARGV("script execvp"));
}

static const struct {
	const char *name;
	int (*function)(void);
} forms[] = {
	{"execve", form_execve},
	{"execve many", form_execve_many},
	{"execve null", form_execve_null},
	{"execv", form_execv},
	{"execvp", form_execvp},
	{"execvp path", form_execvp_path},
	{"execvpe", form_execvpe},
	{"execl", form_execl},
	{"execlp", form_execlp},
	{"execle", form_execle},
	{"fexecve", form_fexecve},
	{"execveat", form_execveat},
	{"missing", form_missing},
	{"script execve", form_script_execve},
	{"script execvp", form_script_execvp},
};

static void wait_for(pid_t pid)
{
	int status = -1;
	char text[32];
	waitpid(pid, &status, 0);
	snprintf(text, sizeof(text), "%d", status);
	print("status", text);
}

static void go_on(int (*form)(void), pid_t pid)
{
	if (!pid) {
		form();
		print("failed", strerror(errno));
		_exit(9);
	}
	wait_for(pid);
}

static void try_spawn(const char *name, const char *file, char **envp, bool search)
{
	pid_t pid = -1;
	int error = (search ? posix_spawnp : posix_spawn)(&pid, file, NULL, NULL, ARGV(name), envp);
	if (!error)
		wait_for(pid);
	print(name, error ? strerror(error) : "started");
}

int main(int argc, char **argv)
{
	self = "/proc/self/exe";
	if (argc > 1 && !strcmp(argv[1], "show"))
		return show(argv);
	if (argc != 3)
		return 2;
	script = argv[1];
	self = argv[2];
	for (int i = 0; i < MANY; i++) {
		char *one;
		if (asprintf(&one, "V%d=%d", i, i) < 0)
			return 3;
		many[i] = one;
	}
	for (size_t i = 0; i < sizeof(forms) / sizeof(forms[0]); i++) {
		print("form", forms[i].name);
		go_on(forms[i].function, fork());
	}
	/* The parent's own environment must be as it was, although the child shares its memory. */
	go_on(form_execve, vfork());
	go_on(form_execve_many, vfork());
	try_spawn("posix_spawn", self, few, false);
	try_spawn("posix_spawn", self, many, false);
	try_spawn("posix_spawn", script, none, false);
	try_spawn("posix_spawnp", self, few, true);
	try_spawn("posix_spawnp", "no-such-program", none, true);
	try_spawn("posix_spawnp", script, none, true);
	return 0;
}
