/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Each check tries what recording does, rather than to guess from versions. */
#include <cpuid.h>
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/io.h"
#include "capture/launch.h"
#include "capture/session.h"
#include "capture/shared_memory.h"
#include "cli/doctor/doctor.h"
#include "cli/setup/runtime_find.h"
#include "symbols/inspect.h"
#include "symbols/symbols.h"

static void check_runtime(struct findings *findings)
{
	_cleanup_free_ char *path = NULL;
	_cleanup_error_ struct error *error = runtime_find(&path);
	if (error) {
		findings_add(findings, FINDING_PROBLEM, "runtime", "%s", error->message);
		return;
	}
	struct statvfs system;
	_cleanup_free_ char *version = inspect_section_text(path, ".heapwise.version");
	if (!version || strcmp(version, HW_VERSION) != 0) {
		findings_add(findings, FINDING_PROBLEM, "runtime",
			"%s is of version %s, this command of " HW_VERSION, path,
			version ? version : "(unknown)");
		findings_fix(findings, "build or install heapwise again");
	} else if (!statvfs(path, &system) && system.f_flag & ST_NOEXEC) {
		findings_add(findings, FINDING_PROBLEM, "runtime",
			"%s is on a file system mounted noexec, so no program can load it", path);
		findings_fix(findings, "install heapwise elsewhere");
	} else {
		findings_add(findings, FINDING_OK, "runtime", "runtime library: %s, version %s",
			path, version);
	}
}

/* As the collector does, whose limits are not those of who starts it. */
static int memory_try(void)
{
	struct rlimit limit;
	getrlimit(RLIMIT_FSIZE, &limit);
	struct rlimit raised = {limit.rlim_max, limit.rlim_max};
	setrlimit(RLIMIT_FSIZE, &raised);
	_cleanup_close_ int memory =
		shared_memory_create("heapwise-doctor", launch_shared_bytes(), "./");
	int why = memory < 0 ? errno : 0;
	setrlimit(RLIMIT_FSIZE, &limit);
	return why;
}

static void check_memory(struct findings *findings)
{
	_cleanup_error_ struct error *limits = launch_limits_check();
	if (limits) {
		findings_add(findings, FINDING_PROBLEM, "limit-file-size", "%s", limits->message);
		findings_fix(findings, "ulimit -S -f in place of ulimit -f");
		return;
	}
	int why = memory_try();
	if (!why) {
		findings_add(findings, FINDING_OK, "shared-memory", "shared memory works");
		return;
	}
	findings_add(findings, FINDING_PROBLEM, "shared-memory",
		"can't create %llu MiB of (sparse) shared memory: %s",
		(unsigned long long)launch_shared_bytes() >> 20, strerror(why));
	findings_fix(findings, "allow memfd_create and ftruncate here (a container's seccomp "
			       "profile, or a security module, forbids one), or mount a /dev/shm "
			       "with enough room");
}

static void check_kernel(struct findings *findings)
{
	struct utsname name;
	uname(&name);
	int pidfd = (int)syscall(SYS_pidfd_open, getpid(), 0);
	if (pidfd < 0) {
		findings_add(findings, FINDING_PROBLEM, "kernel",
			"Linux %s: pidfd_open is refused: %s", name.release, strerror(errno));
		findings_fix(findings, errno == ENOSYS
					       ? "Linux 5.3 or later is needed"
					       : "allow it in the container's seccomp profile");
		return;
	}
	close(pidfd);
	findings_add(findings, FINDING_OK, "kernel", "Linux %s", name.release);
}

static void check_clock(struct findings *findings)
{
	int mode = PR_TSC_ENABLE;
	prctl(PR_GET_TSC, &mode);
	if (mode == PR_TSC_SIGSEGV) {
		findings_add(findings, FINDING_PROBLEM, "tsc",
			"the processor's time stamps are forbidden here (PR_SET_TSC)");
		findings_fix(findings, "start heapwise from a shell that allows them");
		return;
	}
	unsigned a, b, c, d = 0;
	bool invariant = __get_cpuid(0x80000007, &a, &b, &c, &d) && d & 1u << 8;
	findings_add(findings, invariant ? FINDING_OK : FINDING_NOTE, "tsc",
		invariant ? "the processor's time stamps run evenly"
			  : "the processor does not promise even time stamps: times in recordings "
			    "may be off, the order of events across processors too");
}

static void check_session(struct findings *findings)
{
	struct session session;
	struct error *error = session_create(NULL, &session);
	if (error) {
		findings_add(findings, FINDING_PROBLEM, "session-folder", "%s", error->message);
		findings_fix(
			findings, "set XDG_RUNTIME_DIR to a directory of yours with a short path");
		error_destroy(error);
		return;
	}
	findings_add(findings, FINDING_OK, "session-folder",
		"programs can find their collector (%s)", session.folder);
	session_remove(&session);
}

static void check_folder(struct findings *findings)
{
	_cleanup_free_ char *folder = getcwd(NULL, 0);
	struct statvfs system;
	if (!folder || access(".", W_OK | X_OK)) {
		findings_add(findings, FINDING_NOTE, "output-folder",
			"recordings can't be written to the current directory: %s",
			strerror(errno));
		findings_fix(findings, "use another directory, or 'heapwise run -o FILE'");
	} else if (!statvfs(".", &system) &&
		   (uint64_t)system.f_bavail * system.f_frsize < 64u << 20) {
		findings_add(findings, FINDING_NOTE, "output-folder",
			"less than 64 MiB are free for recordings in %s", folder);
		findings_fix(findings, "use 'heapwise run -o FILE'");
	}
}

/* Whether the collector, which raises its limit as far as it may, can map the shared memory. */
static bool address_space_try(void)
{
	struct rlimit limit;
	getrlimit(RLIMIT_AS, &limit);
	if (setrlimit(RLIMIT_AS, &(struct rlimit){RLIM_INFINITY, RLIM_INFINITY}))
		setrlimit(RLIMIT_AS, &(struct rlimit){limit.rlim_max, limit.rlim_max});
	uint64_t bytes = launch_shared_bytes();
	void *at = mmap(NULL, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (at != MAP_FAILED)
		munmap(at, bytes);
	setrlimit(RLIMIT_AS, &limit);
	return at != MAP_FAILED;
}

static void check_address_space(struct findings *findings)
{
	struct rlimit limit;
	if (getrlimit(RLIMIT_AS, &limit))
		return;
	if (!address_space_try()) {
		findings_add(findings, FINDING_PROBLEM, "limit-address-space",
			"the hard limit of address space is %llu MiB, which holds for the "
			"collector too: it needs %llu MiB beside its own for each process, and "
			"nothing can be recorded",
			(unsigned long long)limit.rlim_max >> 20,
			(unsigned long long)launch_shared_bytes() >> 20);
		findings_fix(findings, "ulimit -S -v in place of ulimit -v");
	} else if (limit.rlim_cur < launch_address_space()) {
		findings_add(findings, FINDING_PROBLEM, "limit-address-space",
			"address space is limited to %llu MiB: programs with less than %llu MiB "
			"are left alone",
			(unsigned long long)limit.rlim_cur >> 20,
			(unsigned long long)launch_address_space() >> 20);
		findings_fix(findings, "ulimit -S -v unlimited");
	}
}

static void check_limits(struct findings *findings)
{
	struct rlimit limit;
	check_address_space(findings);
	if (!getrlimit(RLIMIT_NOFILE, &limit) && limit.rlim_max < 64) {
		findings_add(findings, FINDING_NOTE, "limit-files",
			"only %llu files may be open: few processes can be recorded at a time",
			(unsigned long long)limit.rlim_max);
		findings_fix(findings, "ulimit -n 1024");
	}
	if (!getrlimit(RLIMIT_CORE, &limit) && limit.rlim_cur == 0)
		findings_add(findings, FINDING_OK, "limit-core",
			"a program that crashes leaves no core file (ulimit -c 0); its recording "
			"is complete all the same");
}

/* The number in a file of /proc/sys; -1: none. */
static long doctor_machine_setting(const char *path)
{
	_cleanup_free_ uint8_t *data = NULL;
	size_t len;
	_cleanup_error_ struct error *error = read_file(path, 64, &data, &len);
	return error ? -1 : strtol((char *)data, NULL, 10);
}

static void check_tracing(struct findings *findings)
{
	long scope = doctor_machine_setting("/proc/sys/kernel/yama/ptrace_scope");
	if (scope > 0 && geteuid() != 0) {
		findings_add(findings, FINDING_NOTE, "ptrace",
			"kernel.yama.ptrace_scope is %ld: a debugger can't attach to running "
			"programs; recording works",
			scope);
		if (scope < 3)
			findings_fix(findings, "as root: sysctl kernel.yama.ptrace_scope=0");
	}
}

static void check_names(struct findings *findings)
{
	if (access(SYMBOLS_DEBUG_FOLDER "/.build-id", X_OK) == 0)
		findings_add(findings, FINDING_OK, "debug-folder",
			"debug information of libraries: %s", SYMBOLS_DEBUG_FOLDER);
	else
		findings_add(findings, FINDING_NOTE, "debug-folder",
			"no debug information of packages is installed (%s/.build-id): their "
			"functions have no lines, some no names",
			SYMBOLS_DEBUG_FOLDER);
	const char *urls = getenv("DEBUGINFOD_URLS");
	if (!urls || !*urls)
		return;
	findings_add(findings, FINDING_NOTE, "debuginfod",
		"DEBUGINFOD_URLS is set, but heapwise fetches nothing from there by itself");
	findings_fix(findings,
		"debuginfod-find debuginfo FILE fetches it; link it under %s/.build-id",
		SYMBOLS_DEBUG_FOLDER);
}

void doctor_machine(struct findings *findings)
{
	signal(SIGXFSZ, SIG_IGN); /* a limit gives an error then */
	check_runtime(findings);
	check_kernel(findings);
	check_memory(findings);
	check_clock(findings);
	check_session(findings);
	check_folder(findings);
	check_limits(findings);
	check_tracing(findings);
	doctor_preload_order(findings);
	check_names(findings);
	doctor_check_machine(findings);
}
