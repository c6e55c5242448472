/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Runs when: see parts.h. May touch: the same. Functions that are given names of files. */
#undef _FILE_OFFSET_BITS /* names are what they are: libc's headers rename none */

#include "runtime/guard/calls/parts.h"

#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/statvfs.h>

/* libc's, with the kernel's content. */
#define STAT_BYTES sizeof(struct stat)
#define STATX_BYTES 256

/* --- opened --- */

PARTS(int, open, (const char *path, int flags, unsigned mode), (path, flags, mode),
	NAMES("open(filename)", path))
PARTS(int, __open_2, (const char *path, int flags), (path, flags), NAMES("open(filename)", path))
PARTS(int, openat, (int fd, const char *path, int flags, unsigned mode), (fd, path, flags, mode),
	NAMES("openat(filename)", path))
PARTS(int, __openat_2, (int fd, const char *path, int flags), (fd, path, flags),
	NAMES("openat(filename)", path))
PARTS(int, creat, (const char *path, unsigned mode), (path, mode), NAMES("creat(pathname)", path))
PARTS(void *, fopen, (const char *path, const char *mode), (path, mode),
	NAMES("open(filename)", path))
PARTS(void *, freopen, (const char *path, const char *mode, void *file), (path, mode, file),
	NAMES("open(filename)", path))
PARTS(int, truncate, (const char *path, long bytes), (path, bytes), NAMES("truncate(path)", path))
PARTS(int, open64, (const char *path, int flags, unsigned mode), (path, flags, mode),
	NAMES("open(filename)", path))
PARTS(int, __open64_2, (const char *path, int flags), (path, flags), NAMES("open(filename)", path))
PARTS(int, openat64, (int fd, const char *path, int flags, unsigned mode), (fd, path, flags, mode),
	NAMES("openat(filename)", path))
PARTS(int, __openat64_2, (int fd, const char *path, int flags), (fd, path, flags),
	NAMES("openat(filename)", path))
PARTS(int, creat64, (const char *path, unsigned mode), (path, mode), NAMES("creat(pathname)", path))
PARTS(void *, fopen64, (const char *path, const char *mode), (path, mode),
	NAMES("open(filename)", path))
PARTS(void *, freopen64, (const char *path, const char *mode, void *file), (path, mode, file),
	NAMES("open(filename)", path))
PARTS(int, truncate64, (const char *path, long bytes), (path, bytes), NAMES("truncate(path)", path))
PARTS(void *, opendir, (const char *path), (path), NAMES("open(filename)", path))
/* --- changed --- */

PARTS(int, access, (const char *path, int mode), (path, mode), NAMES("access(pathname)", path))
PARTS(int, chdir, (const char *path), (path), NAMES("chdir(path)", path))
PARTS(int, chroot, (const char *path), (path), NAMES("chroot(path)", path))
PARTS(int, chmod, (const char *path, unsigned mode), (path, mode), NAMES("chmod(path)", path))
PARTS(int, mkdir, (const char *path, unsigned mode), (path, mode), NAMES("mkdir(pathname)", path))
PARTS(int, mkfifo, (const char *path, unsigned mode), (path, mode), NAMES("mknod(pathname)", path))
PARTS(int, rmdir, (const char *path), (path), NAMES("rmdir(pathname)", path))
PARTS(int, unlink, (const char *path), (path), NAMES("unlink(pathname)", path))
PARTS(int, remove, (const char *path), (path), NAMES("unlink(pathname)", path))
PARTS(int, chown, (const char *path, unsigned user, unsigned group), (path, user, group),
	NAMES("chown(path)", path))
PARTS(int, lchown, (const char *path, unsigned user, unsigned group), (path, user, group),
	NAMES("lchown(path)", path))
PARTS(int, faccessat, (int fd, const char *path, int mode, int flags), (fd, path, mode, flags),
	NAMES("faccessat(pathname)", path))
PARTS(int, fchmodat, (int fd, const char *path, unsigned mode, int flags), (fd, path, mode, flags),
	NAMES("fchmodat(path)", path))
PARTS(int, fchownat, (int fd, const char *path, unsigned user, unsigned group, int flags),
	(fd, path, user, group, flags), NAMES("fchownat(path)", path))
PARTS(int, mkdirat, (int fd, const char *path, unsigned mode), (fd, path, mode),
	NAMES("mkdirat(pathname)", path))
PARTS(int, unlinkat, (int fd, const char *path, int flags), (fd, path, flags),
	NAMES("unlinkat(pathname)", path))
PARTS(int, inotify_add_watch, (int fd, const char *path, unsigned mask), (fd, path, mask),
	NAMES("inotify_add_watch(path)", path))
PARTS(int, rename, (const char *from, const char *to), (from, to), NAMES("rename(oldpath)", from),
	NAMES("rename(newpath)", to))
PARTS(int, link, (const char *from, const char *to), (from, to), NAMES("link(oldpath)", from),
	NAMES("link(newpath)", to))
PARTS(int, symlink, (const char *from, const char *to), (from, to), NAMES("symlink(oldpath)", from),
	NAMES("symlink(newpath)", to))
PARTS(int, renameat, (int fd, const char *from, int to_fd, const char *to), (fd, from, to_fd, to),
	NAMES("renameat(oldpath)", from), NAMES("renameat(newpath)", to))
PARTS(int, linkat, (int fd, const char *from, int to_fd, const char *to, int flags),
	(fd, from, to_fd, to, flags), NAMES("linkat(oldpath)", from), NAMES("linkat(newpath)", to))
PARTS(int, symlinkat, (const char *from, int fd, const char *to), (from, fd, to),
	NAMES("symlinkat(oldpath)", from), NAMES("symlinkat(newpath)", to))
PARTS(int, utime, (const char *path, const void *times), (path, times),
	NAMES("utime(filename)", path), READS("utime(buf)", times, 16))
PARTS(int, utimes, (const char *path, const void *times), (path, times),
	NAMES("utimes(filename)", path), READS("utimes(tvp)", times, 32))
PARTS(int, utimensat, (int fd, const char *path, const void *times, int flags),
	(fd, path, times, flags), NAMES("utimensat(filename)", path),
	READS("utimensat(tvp)", times, 32))
/* --- described --- */

PARTS(int, stat, (const char *path, void *to), (path, to), NAMES("stat(file_name)", path),
	FILLS("stat(buf)", to, STAT_BYTES))
PARTS(int, __xstat, (int version, const char *path, void *to), (version, path, to),
	NAMES("stat(file_name)", path), FILLS("stat(buf)", to, STAT_BYTES))
PARTS(int, lstat, (const char *path, void *to), (path, to), NAMES("lstat(file_name)", path),
	FILLS("lstat(buf)", to, STAT_BYTES))
PARTS(int, __lxstat, (int version, const char *path, void *to), (version, path, to),
	NAMES("lstat(file_name)", path), FILLS("lstat(buf)", to, STAT_BYTES))
PARTS(int, fstat, (int fd, void *to), (fd, to), FILLS("fstat(buf)", to, STAT_BYTES))
PARTS(int, __fxstat, (int version, int fd, void *to), (version, fd, to),
	FILLS("fstat(buf)", to, STAT_BYTES))
PARTS(int, fstatat, (int fd, const char *path, void *to, int flags), (fd, path, to, flags),
	NAMES("fstatat(file_name)", path), FILLS("fstatat(buf)", to, STAT_BYTES))
PARTS(int, __fxstatat, (int version, int fd, const char *path, void *to, int flags),
	(version, fd, path, to, flags), NAMES("fstatat(file_name)", path),
	FILLS("fstatat(buf)", to, STAT_BYTES))
PARTS(int, statfs, (const char *path, void *to), (path, to), NAMES("statfs(path)", path),
	FILLS("statfs(buf)", to, sizeof(struct statfs)))
PARTS(int, fstatfs, (int fd, void *to), (fd, to), FILLS("fstatfs(buf)", to, sizeof(struct statfs)))
PARTS(int, statvfs, (const char *path, void *to), (path, to), NAMES("statfs(path)", path),
	FILLS("statfs(buf)", to, sizeof(struct statvfs)))
PARTS(int, fstatvfs, (int fd, void *to), (fd, to),
	FILLS("fstatfs(buf)", to, sizeof(struct statvfs)))
PARTS(int, stat64, (const char *path, void *to), (path, to), NAMES("stat(file_name)", path),
	FILLS("stat(buf)", to, STAT_BYTES))
PARTS(int, __xstat64, (int version, const char *path, void *to), (version, path, to),
	NAMES("stat(file_name)", path), FILLS("stat(buf)", to, STAT_BYTES))
PARTS(int, lstat64, (const char *path, void *to), (path, to), NAMES("lstat(file_name)", path),
	FILLS("lstat(buf)", to, STAT_BYTES))
PARTS(int, __lxstat64, (int version, const char *path, void *to), (version, path, to),
	NAMES("lstat(file_name)", path), FILLS("lstat(buf)", to, STAT_BYTES))
PARTS(int, fstat64, (int fd, void *to), (fd, to), FILLS("fstat(buf)", to, STAT_BYTES))
PARTS(int, __fxstat64, (int version, int fd, void *to), (version, fd, to),
	FILLS("fstat(buf)", to, STAT_BYTES))
PARTS(int, fstatat64, (int fd, const char *path, void *to, int flags), (fd, path, to, flags),
	NAMES("fstatat(file_name)", path), FILLS("fstatat(buf)", to, STAT_BYTES))
PARTS(int, __fxstatat64, (int version, int fd, const char *path, void *to, int flags),
	(version, fd, path, to, flags), NAMES("fstatat(file_name)", path),
	FILLS("fstatat(buf)", to, STAT_BYTES))
PARTS(int, statfs64, (const char *path, void *to), (path, to), NAMES("statfs(path)", path),
	FILLS("statfs(buf)", to, sizeof(struct statfs)))
PARTS(int, fstatfs64, (int fd, void *to), (fd, to),
	FILLS("fstatfs(buf)", to, sizeof(struct statfs)))
PARTS(int, statvfs64, (const char *path, void *to), (path, to), NAMES("statfs(path)", path),
	FILLS("statfs(buf)", to, sizeof(struct statvfs)))
PARTS(int, fstatvfs64, (int fd, void *to), (fd, to),
	FILLS("fstatfs(buf)", to, sizeof(struct statvfs)))
PARTS(int, statx, (int fd, const char *path, int flags, unsigned mask, void *to),
	(fd, path, flags, mask, to), NAMES("statx(file_name)", path),
	FILLS("statx(buf)", to, STATX_BYTES))
/* --- extended attributes --- */

PARTS(long, getxattr, (const char *path, const char *name, void *value, size_t size),
	(path, name, value, size), NAMES("getxattr(path)", path), NAMES("getxattr(name)", name),
	FILLS("getxattr(value)", value, size))
PARTS(int, setxattr,
	(const char *path, const char *name, const void *value, size_t size, int flags),
	(path, name, value, size, flags), NAMES("setxattr(path)", path),
	NAMES("setxattr(name)", name), READS("setxattr(value)", value, size))
PARTS(long, listxattr, (const char *path, char *list, size_t size), (path, list, size),
	NAMES("listxattr(path)", path), FILLS("listxattr(list)", list, size))
PARTS(long, lgetxattr, (const char *path, const char *name, void *value, size_t size),
	(path, name, value, size), NAMES("lgetxattr(path)", path), NAMES("lgetxattr(name)", name),
	FILLS("lgetxattr(value)", value, size))
PARTS(int, lsetxattr,
	(const char *path, const char *name, const void *value, size_t size, int flags),
	(path, name, value, size, flags), NAMES("lsetxattr(path)", path),
	NAMES("lsetxattr(name)", name), READS("lsetxattr(value)", value, size))
PARTS(long, llistxattr, (const char *path, char *list, size_t size), (path, list, size),
	NAMES("llistxattr(path)", path), FILLS("llistxattr(list)", list, size))
PARTS(long, fgetxattr, (int fd, const char *name, void *value, size_t size),
	(fd, name, value, size), NAMES("fgetxattr(name)", name),
	FILLS("fgetxattr(value)", value, size))
PARTS(int, fsetxattr, (int fd, const char *name, const void *value, size_t size, int flags),
	(fd, name, value, size, flags), NAMES("fsetxattr(name)", name),
	READS("fsetxattr(value)", value, size))
PARTS(long, flistxattr, (int fd, char *list, size_t size), (fd, list, size),
	FILLS("flistxattr(list)", list, size))
