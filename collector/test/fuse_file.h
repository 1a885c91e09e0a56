/*
 * fuse_file.h
 *		A file system in user space with one file, which stops answering on request. Its bytes are
 *		zeros unless a test sets them.
 *
 * It implements the kernel's protocol itself, so that no library is needed. Requests of a held kind
 * are kept, and answered when they are released.
 */
#ifndef COLLECTOR_TEST_FUSE_FILE_H
#define COLLECTOR_TEST_FUSE_FILE_H

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <linux/fuse.h>

#define FUSE_FILE_BYTES	  8192
#define FUSE_FILE_NODE	  2
#define FUSE_REQUEST_SIZE (1 << 17)
#define FUSE_HELD_MAX	  4096
#define FUSE_VALID_S	  3600 /* for names; attributes are requested each time */

typedef struct FuseFile
{
	char directory[64];
	char path[80];
	int fd;
	pthread_t thread;
	pid_t watcher;
	atomic_uint held_opcode; /* kind of requests that are held; 0: none */
	atomic_uint held_count;
	uint64_t held[FUSE_HELD_MAX];
	char request[FUSE_REQUEST_SIZE];
	char data[FUSE_FILE_BYTES];
} FuseFile;

static inline void
fuse_answer(const FuseFile *file, uint64_t unique, int error, const void *body, size_t length)
{
	struct fuse_out_header header = { .len = (uint32_t) (sizeof(header) + length),
									  .error = error,
									  .unique = unique };
	char answer[sizeof(header) + FUSE_FILE_BYTES];
	ssize_t written;

	memcpy(answer, &header, sizeof(header));
	if (length > 0)
		memcpy(answer + sizeof(header), body, length);
	written = write(file->fd, answer, header.len);
	(void) written; /* the process that made the request may have ended */
}

static inline struct fuse_attr
fuse_attributes(uint64_t node)
{
	if (node == FUSE_FILE_NODE)
		return (struct fuse_attr){
			.ino = node, .size = FUSE_FILE_BYTES, .mode = S_IFREG | 0755, .nlink = 1
		};
	return (struct fuse_attr){ .ino = node, .mode = S_IFDIR | 0755, .nlink = 2 };
}

static inline void
fuse_serve(FuseFile *file, const struct fuse_in_header *header)
{
	if (header->opcode == FUSE_INIT)
	{
		const struct fuse_init_out init = {
			.major = FUSE_KERNEL_VERSION, .minor = 31, .max_write = 4096, .time_gran = 1
		};

		fuse_answer(file, header->unique, 0, &init, sizeof(init));
	}
	else if (header->opcode == FUSE_LOOKUP)
	{
		const struct fuse_entry_out entry = { .nodeid = FUSE_FILE_NODE,
											  .entry_valid = FUSE_VALID_S,
											  .attr = fuse_attributes(FUSE_FILE_NODE) };

		fuse_answer(file, header->unique, 0, &entry, sizeof(entry));
	}
	else if (header->opcode == FUSE_GETATTR)
	{
		const struct fuse_attr_out attributes = { .attr = fuse_attributes(header->nodeid) };

		fuse_answer(file, header->unique, 0, &attributes, sizeof(attributes));
	}
	else if (header->opcode == FUSE_OPEN)
	{
		const struct fuse_open_out opened = { .fh = 1 };

		fuse_answer(file, header->unique, 0, &opened, sizeof(opened));
	}
	else if (header->opcode == FUSE_READ)
	{
		const struct fuse_read_in *read_in = (const void *) (header + 1);
		size_t left = read_in->offset < FUSE_FILE_BYTES ? FUSE_FILE_BYTES - read_in->offset : 0;

		fuse_answer(file, header->unique, 0, file->data + read_in->offset,
					read_in->size < left ? read_in->size : left);
	}
	else if (header->opcode == FUSE_FLUSH || header->opcode == FUSE_RELEASE)
		fuse_answer(file, header->unique, 0, NULL, 0);
	else if (header->opcode != FUSE_FORGET && header->opcode != FUSE_INTERRUPT)
		fuse_answer(file, header->unique, -ENOSYS, NULL, 0);
}

static inline void *
fuse_run(void *argument)
{
	FuseFile *file = argument;
	const struct fuse_in_header *header = (const void *) file->request;
	const struct sched_param first = { .sched_priority = 1 };

	/*
	 * on a busy machine, answers that are not held back must still be in time; fails without
	 * CAP_SYS_NICE, which is harmless
	 */
	(void) pthread_setschedparam(pthread_self(), SCHED_RR, &first);
	while (read(file->fd, file->request, sizeof(file->request)) >= (ssize_t) sizeof(*header))
	{
		if (header->opcode == atomic_load(&file->held_opcode) &&
			atomic_load(&file->held_count) < FUSE_HELD_MAX)
			file->held[atomic_fetch_add(&file->held_count, 1)] = header->unique;
		else
			fuse_serve(file, header);
	}
	return NULL;
}

/*
 * Forks a child that ends the file system if the thread that opened it has ended. A process that
 * closes the file waits for an answer, and no signal ends that. A program that fails or is killed
 * in the meantime would never end, because its threads keep the server's descriptor.
 */
static inline pid_t
fuse_watch(const FuseFile *file, pid_t parent)
{
	pid_t child = fork();
	sigset_t ended;
	int signal;

	if (child != 0)
		return child;
	(void) close_range(0, ~0U, 0);
	sigemptyset(&ended);
	sigaddset(&ended, SIGUSR1);
	sigprocmask(SIG_BLOCK, &ended, NULL);
	if (prctl(PR_SET_PDEATHSIG, SIGUSR1) == 0 && getppid() == parent)
		(void) sigwait(&ended, &signal);
	(void) umount2(file->directory, MNT_FORCE | MNT_DETACH);
	_exit(0);
}

/*
 * Mounts another file system, in a mount namespace of this process. Returns false if this machine
 * does not permit it. With the option allow_other, processes of other users have access, but none
 * of an outer user namespace; without it, those of this user in any user namespace.
 */
static inline bool
fuse_file_open_with(FuseFile *file, const char *option)
{
	static unsigned int opened;
	char options[96];

	memset(file, 0, sizeof(*file));
	snprintf(file->directory, sizeof(file->directory), "/tmp/pfs-fuse-%d-%u", getpid(), opened++);
	snprintf(file->path, sizeof(file->path), "%s/file", file->directory);
	file->fd = open("/dev/fuse", O_RDWR | O_CLOEXEC);
	snprintf(options, sizeof(options), "fd=%d,rootmode=40000,user_id=0,group_id=0%s", file->fd,
			 option);
	if (file->fd < 0 || unshare(CLONE_NEWNS) != 0 ||
		mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0)
		return false;
	(void) mkdir(file->directory, 0755);
	if (mount("pfs", file->directory, "fuse", 0, options) != 0)
		return false;
	file->watcher = fuse_watch(file, getpid());
	return pthread_create(&file->thread, NULL, fuse_run, file) == 0;
}

static inline bool
fuse_file_open(FuseFile *file)
{
	return fuse_file_open_with(file, "");
}

/* From here on requests of this kind wait. */
static inline void
fuse_file_hold(FuseFile *file, unsigned int opcode)
{
	atomic_store(&file->held_opcode, opcode);
}

static inline void
fuse_file_let_go(FuseFile *file)
{
	const struct fuse_open_out opened = { .fh = 1 };
	unsigned int opcode = atomic_exchange(&file->held_opcode, 0);

	for (unsigned int i = 0; i < atomic_load(&file->held_count); i++)
		fuse_answer(file, file->held[i], 0, &opened, opcode == FUSE_OPEN ? sizeof(opened) : 0);
	atomic_store(&file->held_count, 0);
}

/* Lets requests that still wait fail. */
static inline void
fuse_file_close(FuseFile *file)
{
	(void) umount2(file->directory, MNT_FORCE | MNT_DETACH);
	(void) rmdir(file->directory);
	pthread_join(file->thread, NULL);
	close(file->fd);
	if (file->watcher > 0)
	{
		(void) kill(file->watcher, SIGKILL);
		(void) waitpid(file->watcher, NULL, 0);
	}
}

#endif
