/*
 * open_file.c
 *		Opens paths within a root directory.
 *
 * 1. Resolve the path to an O_PATH descriptor, which does not call a driver's open().
 * 2. Refuse anything but a regular file.
 * 3. Open it for reading through /proc/self/fd, which is the same file even if the path has been
 * replaced.
 *
 * openat2() does the first step from Linux 5.6 on. On older kernels, or if a seccomp filter forbids
 * the call, we resolve component by component: each is opened without following it, a link's text
 * is put in front of the rest of the path, and ".." returns to the descriptor that we came from, so
 * that a directory moved in the meantime cannot lead elsewhere.
 */
#include "files/open_file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/magic.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <string.h>
#include <sys/statfs.h>
#include <sys/syscall.h>
#include <unistd.h>

#define DEPTH_MAX 64 /* limit of nested directories below the root */
#define LINKS_MAX 40 /* the kernel's own limit */

static bool without_openat2;

void
open_file_without_openat2(bool without)
{
	without_openat2 = without;
}

int
open_root(uint32_t pid)
{
	char path[32] = "/";
	int fd;

	if (pid != 0)
		snprintf(path, sizeof(path), "/proc/%u/root", pid);
	fd = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

/* The directories from the root down to the current one. */
typedef struct Trail
{
	int fds[DEPTH_MAX + 1]; /* the first is the root, which the caller owns */
	int depth;
	int links;
	char rest[PATH_MAX]; /* part of the path that is not resolved yet */
} Trail;

static void
trail_climb(Trail *trail, int depth)
{
	while (trail->depth > depth)
		close(trail->fds[trail->depth--]);
}

/*
 * Removes the next component from the rest of the path. Returns false at the end of the path, or if
 * *err is set to an error.
 */
static bool
trail_next(Trail *trail, char name[NAME_MAX + 1], int *err)
{
	size_t skipped = strspn(trail->rest, "/");
	size_t length = strcspn(trail->rest + skipped, "/");

	if (length == 0)
		return false;
	*err = length > NAME_MAX ? -ENAMETOOLONG : 0;
	if (*err != 0)
		return false;
	memcpy(name, trail->rest + skipped, length);
	name[length] = '\0';
	memmove(trail->rest, trail->rest + skipped + length,
			strlen(trail->rest + skipped + length) + 1);
	return true;
}

/* Inserts the text of a link before the rest of the path. */
static int
trail_follow_link(Trail *trail, int fd)
{
	char text[PATH_MAX];
	ssize_t length = readlinkat(fd, "", text, sizeof(text));
	size_t rest = strlen(trail->rest);

	if (length < 0)
		return -errno;
	if (++trail->links > LINKS_MAX)
		return -ELOOP;
	if ((size_t) length + 1 + rest >= sizeof(trail->rest))
		return -ENAMETOOLONG;
	memmove(trail->rest + length + 1, trail->rest, rest + 1);
	memcpy(trail->rest, text, (size_t) length);
	trail->rest[length] = '/';
	if (text[0] == '/')
		trail_climb(trail, 0);
	return 0;
}

/* Resolves one component. */
static int
trail_descend(Trail *trail, const char *name)
{
	struct stat status;
	int err;
	int fd;

	if (strcmp(name, ".") == 0)
		return 0;
	if (strcmp(name, "..") == 0)
	{
		trail_climb(trail, trail->depth > 0 ? trail->depth - 1 : 0);
		return 0;
	}
	fd = openat(trail->fds[trail->depth], name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	err = fstat(fd, &status) != 0 ? -errno : 0;
	if (err == 0 && S_ISLNK(status.st_mode))
	{
		err = trail_follow_link(trail, fd);
		close(fd);
		return err;
	}
	if (err == 0 && trail->depth == DEPTH_MAX)
		err = -ENAMETOOLONG;
	if (err != 0)
	{
		close(fd);
		return err;
	}
	trail->fds[++trail->depth] = fd;
	return 0;
}

/* Emulates openat2() with RESOLVE_IN_ROOT. Returns an O_PATH descriptor or -errno. */
static int
walk_inside(int root_fd, const char *path)
{
	Trail trail = { .fds = { root_fd } };
	char name[NAME_MAX + 1];
	int err = 0;
	int fd;

	if (strlen(path) >= sizeof(trail.rest))
		return -ENAMETOOLONG;
	strcpy(trail.rest, path);
	while (err == 0 && trail_next(&trail, name, &err))
		err = trail_descend(&trail, name);
	fd = err != 0 ? err : -ENOEXEC; /* the path names the root itself */
	if (err == 0 && trail.depth > 0)
		fd = trail.fds[trail.depth--];
	trail_climb(&trail, 0);
	return fd;
}

static int
path_inside(int root_fd, const char *path)
{
	struct open_how how = { .flags = O_PATH | O_CLOEXEC,
							.resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS };
	int fd;

	if (without_openat2)
		return walk_inside(root_fd, path);
	fd = (int) syscall(SYS_openat2, root_fd, path, &how, sizeof(how));
	/* openat2() is missing or a filter forbids it, or a directory moved during the lookup */
	if (fd < 0 && (errno == ENOSYS || errno == EPERM || errno == EAGAIN))
		return walk_inside(root_fd, path);
	return fd < 0 ? -errno : fd;
}

/*
 * Opens for reading the regular file of an O_PATH descriptor, which is closed. If path_fd is a
 * negative errno, returns it.
 */
static int
open_path_fd(int path_fd, struct stat *status)
{
	char path[32];
	int fd = path_fd;

	if (path_fd < 0)
		return path_fd;
	if (fstat(path_fd, status) != 0)
		fd = -errno;
	else if (!S_ISREG(status->st_mode))
		fd = -ENOEXEC;
	else
	{
		snprintf(path, sizeof(path), "/proc/self/fd/%d", path_fd);
		fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
		if (fd < 0)
			fd = -errno;
	}
	close(path_fd);
	return fd;
}

int
open_file_inside(int root_fd, const char *path, struct stat *status)
{
	return open_path_fd(path_inside(root_fd, path), status);
}

int
open_file_trusted(const char *path, struct stat *status)
{
	int fd = open(path, O_PATH | O_CLOEXEC);

	return open_path_fd(fd < 0 ? -errno : fd, status);
}

int
open_file_of_process(const char *path, struct stat *status)
{
	unsigned pid;
	int inside = 0;
	int root_fd;
	int fd;

	if (sscanf(path, "/proc/%u/root%n", &pid, &inside) != 1 || inside == 0 || path[inside] != '/')
		return open_file_trusted(path, status);
	root_fd = open_root(pid);
	if (root_fd < 0)
		return root_fd;
	fd = open_file_inside(root_fd, path + inside, status);
	close(root_fd);
	return fd;
}

bool
open_file_is_of_kernel(int fd)
{
	struct statfs status;

	return fstatfs(fd, &status) == 0 && status.f_type != FUSE_SUPER_MAGIC;
}
