/*
 * mapped_file.c
 *		A table of mapped files, keyed by the result of fstat().
 *
 * 1. Look up the mapping's device and inode among the open files.
 * 2. Otherwise open the file through /proc/PID/map_files or by name, and compare it with the
 * mapping.
 * 3. Intern it by its version (device, inode, size, mtime): another version is another file.
 * 4. The flusher thread asks an opener for the contents of files with sampled code.
 * 5. The sweep removes files without references from the table and closes them. A file stays
 * charged to its owner until it is closed, which its file system may delay.
 */
#include "process/mapped_file.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <elf.h>
#include <uthash.h>

#include "base/clock.h"
#include "base/hash.h"
#include "files/open_file.h"
#include "process/owner.h"
#include "process/patience.h"

#define MAPPED_PATH_BYTES (4096 + 64)
#define FEW_FILES		  64 /* an owner may always open this many, until the table is full */
#define CLOSING_NS		  UINT64_C(250000000) /* maximum time that one sweep spends closing files */

typedef struct FileId
{
	uint64_t device;
	uint64_t inode;
} FileId;

typedef struct FileVersion
{
	FileId file;
	uint64_t size_bytes;
	int64_t mtime_s;
	int64_t mtime_ns;
} FileVersion;

/*
 * A file may have several names, by links and mounts. Each name is an entry of its own, charged to
 * the owner that mapped the file by that name. With one entry for all names, the first process that
 * maps a library would name it for all others.
 */
typedef struct FileKey
{
	FileVersion version;
	uint64_t name; /* hash of the name */
} FileKey;

/* The files of one owner. The account exists as long as it has files. */
typedef struct FileAccount
{
	uint64_t owner;
	size_t files;
	size_t name_bytes;
	/*
	 * flusher thread: set when a file of the owner does not answer; its files are not opened until
	 * then
	 */
	uint64_t paused_until_ns;
	UT_hash_handle hh;
} FileAccount;

struct MappedFile
{
	FileKey key;
	FileAccount *account; /* account that the file is charged to; NULL if none */
	char *name;
	char *compiler; /* guarded by the owner of the process table; NULL if not known */
	char *path;		/* path by which the file may be opened while the process lives */
	int fd;			/* open for the lifetime of this entry */
	/* guarded by the table's mutex, like everything below except the content */
	uint32_t references;
	bool sampled;  /* a sampled frame is in the file */
	bool opened;   /* the content was requested; only the flusher thread changes this */
	Stall stall;   /* flusher thread: backoff after the file did not answer */
	void *content; /* flusher thread; NULL if unreadable */
	void (*close_content)(void *content);
	struct MappedFile *next_closing;
	UT_hash_handle hh;
	UT_hash_handle by_file;	  /* this table contains only the newest of the entries for one inode */
	struct MappedFile *older; /* links the other entries for the inode */
	struct MappedFile *newer;
};

struct MappedFileTable
{
	pthread_mutex_t mutex; /* guards everything except the contents of files */
	uint64_t name_seed;
	MappedFile *files;
	MappedFile *by_file;
	MappedFile *vdso;
	FileAccount *accounts;
	FileAccount total;
	FileAccount limit; /* 0: unlimited */
	uint32_t holders;
	Patience patience; /* used by the flusher thread, which closes the files in "closing" */
	MappedFile *closing;
	MappedFile **closing_end;
	bool pending; /* the content of a sampled file has not been requested yet */
	MappedFileStats stats;
};

/* Frees a file whose descriptor is closed. */
static void
mapped_file_free(MappedFile *file)
{
	if (file->content != NULL)
		file->close_content(file->content);
	free(file->name);
	free(file->compiler);
	free(file->path);
	free(file);
}

static FileVersion
version_of(const struct stat *status)
{
	FileVersion key;

	/* Keys are compared and hashed as bytes, including padding. */
	memset(&key, 0, sizeof(key));
	key.file.device = status->st_dev;
	key.file.inode = status->st_ino;
	key.size_bytes = (uint64_t) status->st_size;
	key.mtime_s = status->st_mtim.tv_sec;
	key.mtime_ns = status->st_mtim.tv_nsec;
	return key;
}

/* Returns the newest entry for an inode. The caller must hold the mutex. */
static MappedFile *
find_by_file(const MappedFileTable *table, const FileId *id)
{
	MappedFile *file;

	HASH_FIND(by_file, table->by_file, id, sizeof(*id), file);
	return file;
}

static size_t
name_bytes(const MappedFile *file)
{
	return sizeof(*file) + strlen(file->name) + strlen(file->path) + 2;
}

/*
 * Charges a file to its owner; on out of memory, only to the total. The caller must hold the mutex.
 */
static void
charge_file(MappedFileTable *table, MappedFile *file, uint64_t owner)
{
	size_t bytes = name_bytes(file);
	FileAccount *account;

	HASH_FIND(hh, table->accounts, &owner, sizeof(owner), account);
	if (account == NULL && (account = calloc(1, sizeof(*account))) != NULL)
	{
		account->owner = owner;
		HASH_ADD(hh, table->accounts, owner, sizeof(owner), account);
	}
	file->account = account;
	table->total.files++;
	table->total.name_bytes += bytes;
	if (account != NULL)
	{
		account->files++;
		account->name_bytes += bytes;
	}
}

/*
 * Releases the charge of a file. The caller must hold the mutex, or be the last user of the table.
 */
static void
discharge_file(MappedFileTable *table, MappedFile *file)
{
	FileAccount *account = file->account;
	size_t bytes = name_bytes(file);

	table->total.files--;
	table->total.name_bytes -= bytes;
	if (account == NULL)
		return;
	account->name_bytes -= bytes;
	if (--account->files > 0)
		return;
	HASH_DEL(table->accounts, account);
	free(account);
}

/* Returns true if an account has used up the given number of eighths of the limit. */
static bool
is_beyond(const FileAccount *used, const FileAccount *limit, size_t eighths)
{
	/* a limit of 0 means unlimited */
	return (limit->files > 0 && used->files >= limit->files * eighths / 8) ||
		   (limit->name_bytes > 0 && used->name_bytes >= limit->name_bytes * eighths / 8);
}

/*
 * Returns true if the owner may open one more file; otherwise counts a refusal. The caller must
 * hold the mutex.
 */
static bool
take_room(MappedFileTable *table, uint64_t owner)
{
	FileAccount *account;
	size_t files;
	bool has;

	HASH_FIND(hh, table->accounts, &owner, sizeof(owner), account);
	files = account != NULL ? account->files : 0;
	/*
	 * All owners: 8/8 of the limit. One owner: 4/8. Between 7/8 and 8/8 only owners with few files
	 * get room.
	 */
	has = !is_beyond(&table->total, &table->limit, 8) &&
		  (account == NULL || !is_beyond(account, &table->limit, 4)) &&
		  (files < FEW_FILES || !is_beyond(&table->total, &table->limit, 7));
	table->stats.refused += !has;
	return has;
}

/* Like take_room(), but takes the mutex. */
static bool
has_room(MappedFileTable *table, uint64_t owner)
{
	bool has;

	pthread_mutex_lock(&table->mutex);
	has = take_room(table, owner);
	pthread_mutex_unlock(&table->mutex);
	return has;
}

/* Adds a file to both hash tables. The caller must hold the mutex. */
static void
files_add_file(MappedFileTable *table, MappedFile *file)
{
	MappedFile *older = find_by_file(table, &file->key.version.file);

	HASH_ADD(hh, table->files, key, sizeof(file->key), file);
	/* by_file contains one entry for each inode, the newest; the others are linked behind it. */
	if (older != NULL)
	{
		HASH_DELETE(by_file, table->by_file, older);
		older->newer = file;
	}
	file->older = older;
	HASH_ADD(by_file, table->by_file, key.version.file, sizeof(file->key.version.file), file);
	table->stats.count++;
}

/*
 * Moves a file from the hash tables to the list of files to close. The file stays charged while it
 * is open. The caller must hold the mutex, or be the last user of the table.
 */
static void
remove_file(MappedFileTable *table, MappedFile *file)
{
	MappedFile *older = file->older;

	HASH_DELETE(hh, table->files, file);
	if (older != NULL)
		older->newer = file->newer;
	/* Only the newest entry is in by_file, where the next older one takes its place. */
	if (file->newer != NULL)
		file->newer->older = older;
	else
	{
		HASH_DELETE(by_file, table->by_file, file);
		if (older != NULL)
			HASH_ADD(by_file, table->by_file, key.version.file, sizeof(older->key.version.file),
					 older);
	}
	file->next_closing = NULL;
	*table->closing_end = file;
	table->closing_end = &file->next_closing;
}

static FileKey
key_of(const MappedFileTable *table, const FileVersion *version, const char *name)
{
	return (FileKey){ *version, hash_bytes(table->name_seed, name, strlen(name)) };
}

/* Makes an entry, which owns fd from then on; NULL on out of memory. */
static MappedFile *
make_file(const FileKey *key, int fd, const char *name, const char *path)
{
	MappedFile *file = calloc(1, sizeof(*file));

	if (file == NULL)
		return NULL;
	file->key = *key;
	file->fd = fd;
	file->name = strdup(name);
	file->path = strdup(path);
	if (file->name != NULL && file->path != NULL)
		return file;
	mapped_file_free(file);
	return NULL;
}

/*
 * Stores the entry for an open file in *result, with a reference, making the entry if needed. Owns
 * the descriptor from then on, even on failure. An existing entry needs no room. The caller must
 * not hold the mutex.
 */
static int
mapped_file_intern(MappedFileTable *table, uint64_t owner, int fd, const char *name,
				   const char *path, MappedFile **result)
{
	struct stat status;
	FileVersion version;
	FileKey key;
	MappedFile *file;
	int error = 0;

	if (fstat(fd, &status) != 0)
	{
		close(fd);
		return -ENOEXEC;
	}
	version = version_of(&status);
	key = key_of(table, &version, name);

	pthread_mutex_lock(&table->mutex);
	/*
	 * Another thread may have added the file since find_open(), so the table is searched under the
	 * same lock under which the entry is added.
	 */
	HASH_FIND(hh, table->files, &key, sizeof(key), file);
	if (file == NULL && !take_room(table, owner))
		error = -EMFILE;
	else if (file == NULL)
	{
		file = make_file(&key, fd, name, path);
		if (file != NULL)
		{
			files_add_file(table, file);
			charge_file(table, file, owner);
		}
		else
			error = -ENOMEM;
	}
	if (file != NULL)
		file->references++;
	pthread_mutex_unlock(&table->mutex);
	if (file == NULL || file->fd != fd)
		close(fd); /* close it without the mutex, because a FUSE file system may block the close */
	*result = file;
	return error;
}

/* Copies our vDSO into a memfd. Returns -1 if this process has no vDSO. */
static int
vdso_copy(void)
{
	const char *start = (const char *) getauxval(AT_SYSINFO_EHDR);
	const Elf64_Ehdr *header = (const Elf64_Ehdr *) (const void *) start;
	size_t size;
	int fd;

	if (start == NULL || memcmp(header->e_ident, ELFMAG, SELFMAG) != 0 ||
		header->e_ident[EI_CLASS] != ELFCLASS64)
		return -1;
	/*
	 * AT_SYSINFO_EHDR does not have the size, but the section headers are the last part of the
	 * kernel's image.
	 */
	size = header->e_shoff + (size_t) header->e_shentsize * header->e_shnum;
	fd = memfd_create("vdso", MFD_CLOEXEC);
	if (fd >= 0 && write(fd, start, size) != (ssize_t) size)
	{
		close(fd);
		return -1;
	}
	return fd;
}

int
mapped_file_table_create(MappedFileTable **result)
{
	MappedFileTable *table = calloc(1, sizeof(*table));
	int fd;

	if (table == NULL || patience_init(&table->patience) != 0)
	{
		free(table);
		return -ENOMEM;
	}
	pthread_mutex_init(&table->mutex, NULL);
	table->name_seed = hash_seed();
	table->closing_end = &table->closing;
	fd = vdso_copy();
	if (fd >= 0 && mapped_file_intern(table, OWNER_NONE, fd, "[vdso]", "", &table->vdso) == -ENOMEM)
	{
		mapped_file_table_free(table);
		return -ENOMEM;
	}
	*result = table;
	return 0;
}

void
mapped_file_table_limit(MappedFileTable *table, size_t files, size_t limit_bytes)
{
	pthread_mutex_lock(&table->mutex);
	table->limit.files = files;
	table->limit.name_bytes = limit_bytes;
	pthread_mutex_unlock(&table->mutex);
}

MappedFileTable *
mapped_file_table_hold(MappedFileTable *table)
{
	pthread_mutex_lock(&table->mutex);
	table->holders++;
	pthread_mutex_unlock(&table->mutex);
	return table;
}

void
mapped_file_table_let_go(MappedFileTable *table)
{
	pthread_mutex_lock(&table->mutex);
	table->holders--;
	pthread_mutex_unlock(&table->mutex);
}

static bool
table_is_held(MappedFileTable *table)
{
	bool held;

	pthread_mutex_lock(&table->mutex);
	held = table->holders > 0;
	pthread_mutex_unlock(&table->mutex);
	return held;
}

void
mapped_file_table_free(MappedFileTable *table)
{
	MappedFile *file;
	MappedFile *next;

	if (table == NULL || table_is_held(table))
		return;
	HASH_ITER(hh, table->files, file, next)
		remove_file(table, file);
	for (file = table->closing; file != NULL; file = next)
	{
		next = file->next_closing;
		discharge_file(table, file);
		patience_close(&table->patience, file->fd);
		mapped_file_free(file);
	}
	patience_fini(&table->patience);
	pthread_mutex_destroy(&table->mutex);
	free(table);
}

/*
 * Returns true if the open file is the mapped one. Another file may be mapped there by now, or the
 * pid may have been reused. Some file systems show other inode numbers in mappings than in fstat();
 * in that case the names are compared.
 */
static bool
is_file_of(int fd, const ProcMapping *mapping)
{
	char path[64];
	char name[4096];
	struct stat status;
	ssize_t length;

	if (fstat(fd, &status) != 0)
		return false;
	/* without the device, which differs between mappings and fstat() on btrfs and overlayfs */
	if (status.st_ino == mapping->inode)
		return true;
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	length = readlink(path, name, sizeof(name) - 1);
	if (length < 0)
		return false;
	name[length] = '\0';
	return proc_cut_deleted(name) == mapping->deleted && strcmp(name, mapping->name) == 0;
}

/* Reads the version of an open file from the kernel's cache, because its server may not answer. */
static int
known_version(int fd, FileVersion *version)
{
	struct statx status;

	if (statx(fd, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, STATX_BASIC_STATS, &status) != 0)
		return -errno;
	memset(version, 0, sizeof(*version));
	version->file.device = makedev(status.stx_dev_major, status.stx_dev_minor);
	version->file.inode = status.stx_ino;
	version->size_bytes = status.stx_size;
	version->mtime_s = status.stx_mtime.tv_sec;
	version->mtime_ns = status.stx_mtime.tv_nsec;
	return 0;
}

/*
 * Returns a reference to the file behind a mapping if the file is already open; otherwise NULL.
 * While it is open, its device and inode number cannot be reused. A file that was written to since
 * counts as another file.
 */
static MappedFile *
find_open(MappedFileTable *table, const ProcMapping *mapping)
{
	const FileId id = { mapping->device, mapping->inode };
	FileVersion version;
	MappedFile *file;

	pthread_mutex_lock(&table->mutex);
	file = find_by_file(table, &id);
	if (file != NULL)
		file->references++;
	pthread_mutex_unlock(&table->mutex);
	if (file == NULL)
		return NULL;
	if (known_version(file->fd, &version) == 0 &&
		memcmp(&version, &file->key.version, sizeof(version)) == 0)
		return file;
	mapped_file_release(table, file);
	return NULL;
}

MappedFile *
mapped_file_find_mapping(MappedFileTable *table, const ProcMapping *mapping)
{
	MappedFile *file = find_open(table, mapping);
	MappedFile *named;
	FileKey key;

	/*
	 * two file systems with one device number may contain the same inode number, so compare the
	 * name
	 */
	if (file == NULL || strcmp(file->name, mapping->name) == 0)
		return file;
	key = key_of(table, &file->key.version, mapping->name);
	pthread_mutex_lock(&table->mutex);
	HASH_FIND(hh, table->files, &key, sizeof(key), named);
	if (named != NULL)
		named->references++;
	/* gives back the reference that find_open() took */
	file->references--;
	pthread_mutex_unlock(&table->mutex);
	return named;
}

void
mapped_file_table_visit(MappedFileTable *table, const char *prefix,
						void (*visitor)(void *context, const VisitedFile *file), void *context)
{
	size_t length = strlen(prefix);
	MappedFile *file;
	MappedFile *next;

	pthread_mutex_lock(&table->mutex);
	HASH_ITER(hh, table->files, file, next)
	{
		const char *slash = strrchr(file->name, '/');
		const FileId *id = &file->key.version.file;

		if (file->references > 0 && slash != NULL && strncmp(slash + 1, prefix, length) == 0)
			visitor(context, &(VisitedFile){ .device = id->device,
											 .inode = id->inode,
											 .owner = file->account != NULL ? file->account->owner
																			: OWNER_NONE,
											 .fd = file->fd,
											 .name = file->name });
	}
	pthread_mutex_unlock(&table->mutex);
}

int
mapped_file_open(uint32_t pid, const ProcMapping *mapping, struct stat *status)
{
	char path[MAPPED_PATH_BYTES];
	/* returned if map_files led to another file than the mapped one */
	int error = ESTALE;
	int fd;

	snprintf(path, sizeof(path), "/proc/%u/map_files/%llx-%llx", pid,
			 (unsigned long long) mapping->start, (unsigned long long) mapping->end);
	fd = open_file_trusted(path, status);
	if (fd < 0)
		error = -fd;
	else if (is_file_of(fd, mapping))
		return fd;
	else
		close(fd);
	if (mapping->deleted || mapping->name[0] != '/')
		return -error;
	/* open it by name: we lack CAP_CHECKPOINT_RESTORE, or the mapping has changed since */
	snprintf(path, sizeof(path), "/proc/%u/root%s", pid, mapping->name);
	fd = open_file_of_process(path, status);
	if (fd < 0 || status->st_ino == mapping->inode)
		return fd;
	close(fd);
	return -ESTALE;
}

int
mapped_file_acquire_mapping(MappedFileTable *table, uint64_t owner, uint32_t pid,
							const ProcMapping *mapping, MappedFile **file)
{
	char path[MAPPED_PATH_BYTES];
	struct stat status;
	int fd;

	*file = mapped_file_find_mapping(table, mapping);
	if (*file != NULL)
		return 0;
	if (!has_room(table, owner))
		return -EMFILE;
	fd = mapped_file_open(pid, mapping, &status);
	if (fd < 0)
		return fd;
	snprintf(path, sizeof(path), "/proc/%u/root%s", pid, mapping->name);
	/* a deleted file has no path by which its content could be opened */
	return mapped_file_intern(table, owner, fd, mapping->name, mapping->deleted ? "" : path, file);
}

int
mapped_file_acquire_executable(MappedFileTable *table, uint64_t owner, uint32_t pid,
							   const char *name, MappedFile **file)
{
	char path[MAPPED_PATH_BYTES];
	struct stat status;
	int fd;

	/* the inode is known only after the open, and most executables are in the table already */
	snprintf(path, sizeof(path), "/proc/%u/exe", pid);
	fd = open_file_trusted(path, &status);
	if (fd < 0)
		return fd;
	snprintf(path, sizeof(path), "/proc/%u/root%s", pid, name);
	return mapped_file_intern(table, owner, fd, name, path, file);
}

/*
 * Opens a file by its name within the root of a process, if it is still the file that was mapped.
 */
static int
open_past(MappedFileTable *table, uint64_t owner, uint32_t root_pid, const ProcMapping *mapping,
		  MappedFile **file)
{
	char path[MAPPED_PATH_BYTES];
	struct stat status;
	int root_fd;
	int fd;

	if (mapping->deleted || mapping->name[0] != '/')
		return -ENOENT;
	if (!has_room(table, owner))
		return -EMFILE;
	root_fd = open_root(root_pid);
	if (root_fd < 0)
		return root_fd;
	fd = open_file_inside(root_fd, mapping->name, &status);
	close(root_fd);
	if (fd < 0)
		return fd;
	if (status.st_ino != mapping->inode || status.st_dev != mapping->device)
	{
		close(fd);
		return -ESTALE;
	}
	if (root_pid != 0)
		snprintf(path, sizeof(path), "/proc/%u/root%s", root_pid, mapping->name);
	else
		snprintf(path, sizeof(path), "%s", mapping->name);
	return mapped_file_intern(table, owner, fd, mapping->name, path, file);
}

int
mapped_file_acquire_past(MappedFileTable *table, uint64_t owner, uint32_t root_pid,
						 const ProcMapping *mapping, MappedFile **file)
{
	int error;

	*file = mapped_file_find_mapping(table, mapping);
	if (*file != NULL)
		return 0;
	error = open_past(table, owner, root_pid, mapping, file);
	if (error == 0)
		return 0;
	/*
	 * On overlayfs the side-band may report a path within a layer, which cannot be opened. The file
	 * may be open under another name, so device and inode suffice.
	 */
	*file = find_open(table, mapping);
	return *file != NULL ? 0 : error;
}

const char *
mapped_file_compiler(const MappedFile *file)
{
	return file->compiler;
}

void
mapped_file_set_compiler(MappedFile *file, const char *compiler)
{
	free(file->compiler);
	file->compiler = strdup(compiler);
}

int
mapped_file_descriptor(const MappedFile *file)
{
	return file->fd;
}

uint64_t
mapped_file_device(const MappedFile *file)
{
	return file->key.version.file.device;
}

/*
 * Returns the account that is charged for waits on the file's file system: the file's account
 * unless the file is on a disk. May be NULL.
 */
static FileAccount *
payer_of(const MappedFile *file)
{
	return major(file->key.version.file.device) == 0 ? file->account : NULL;
}

uint64_t
mapped_file_payer(const MappedFile *file)
{
	const FileAccount *payer = payer_of(file);

	return payer != NULL ? payer->owner : OWNER_NONE;
}

MappedFile *
mapped_file_acquire_vdso(MappedFileTable *table)
{
	if (table->vdso != NULL)
		mapped_file_retain(table, table->vdso);
	return table->vdso;
}

void
mapped_file_retain(MappedFileTable *table, MappedFile *file)
{
	pthread_mutex_lock(&table->mutex);
	file->references++;
	pthread_mutex_unlock(&table->mutex);
}

void
mapped_file_retain_sampled(MappedFileTable *table, MappedFile *file)
{
	pthread_mutex_lock(&table->mutex);
	file->references++;
	file->sampled = true;
	if (!file->opened)
		table->pending = true;
	pthread_mutex_unlock(&table->mutex);
}

void
mapped_file_release(MappedFileTable *table, MappedFile *file)
{
	if (file == NULL)
		return;
	pthread_mutex_lock(&table->mutex);
	file->references--;
	pthread_mutex_unlock(&table->mutex);
}

static bool
is_left_alone(const MappedFile *file, uint64_t now_ns)
{
	const FileAccount *payer = payer_of(file);

	return now_ns < file->stall.until_ns || (payer != NULL && now_ns < payer->paused_until_ns);
}

/*
 * Starts the backoff of a file that did not answer, and a short pause for the other files of its
 * payer.
 */
static void
note_silence(MappedFile *file)
{
	uint64_t now_ns = (uint64_t) clock_ns(CLOCK_MONOTONIC);
	FileAccount *payer = payer_of(file);

	stall_note(&file->stall, now_ns);
	if (payer != NULL)
		payer->paused_until_ns = now_ns + MAPPED_FILE_PAUSE_NS;
}

/*
 * Opens the content. The descriptor always leads to the mapped file, but if the path below the
 * process's root leads to that file, too, it is preferred: separate debug files are then searched
 * for in the process's container. The caller must not hold the mutex, because reading an ELF file
 * may take long.
 */
static void
open_content(MappedFileTable *table, MappedFile *file, const MappedFileOpener *opener)
{
	char path[64];
	const MappedFilePlace place = { .path = file->path,
									.device = file->key.version.file.device,
									.inode = file->key.version.file.inode,
									.descriptor = path,
									.payer = mapped_file_payer(file) };
	int result;

	snprintf(path, sizeof(path), "/proc/%d/fd/%d", (int) getpid(), file->fd);
	result = opener->open(opener->context, &place, file->name, &file->content);
	if (result != 0)
		file->content = NULL;
	if (result == -EAGAIN)
	{
		note_silence(file);
		return;
	}
	file->close_content = opener->close;
	pthread_mutex_lock(&table->mutex);
	file->opened = true;
	if (result == 0)
		table->stats.opened++;
	else
		table->stats.unreadable++;
	pthread_mutex_unlock(&table->mutex);
}

/*
 * Returns the next sampled file whose content is to be opened, with a reference; NULL if there is
 * none.
 */
static MappedFile *
next_pending(MappedFileTable *table)
{
	uint64_t now_ns = (uint64_t) clock_ns(CLOCK_MONOTONIC);
	MappedFile *found = NULL;
	bool later = false;

	pthread_mutex_lock(&table->mutex);
	if (table->pending)
	{
		MappedFile *file;
		MappedFile *next;

		HASH_ITER(hh, table->files, file, next)
		{
			if (!file->sampled || file->opened)
				continue;
			/* pending stays set, so that the file is tried again after its backoff */
			if (is_left_alone(file, now_ns))
			{
				later = true;
				continue;
			}
			found = file;
			found->references++;
			break;
		}
		table->pending = found != NULL || later;
	}
	pthread_mutex_unlock(&table->mutex);
	return found;
}

void
mapped_file_table_open_pending(MappedFileTable *table, const MappedFileOpener *opener,
							   int64_t deadline_ns)
{
	MappedFile *file;

	while (clock_ns(CLOCK_MONOTONIC) < deadline_ns && (file = next_pending(table)) != NULL)
	{
		open_content(table, file, opener);
		mapped_file_release(table, file);
	}
}

/* Frees the closed file at *link and releases its charge. */
static void
forget_closed(MappedFileTable *table, MappedFile **link)
{
	MappedFile *file = *link;

	*link = file->next_closing;
	/* the file was the last one of the list */
	if (*link == NULL)
		table->closing_end = link;
	pthread_mutex_lock(&table->mutex);
	discharge_file(table, file);
	table->stats.count--;
	pthread_mutex_unlock(&table->mutex);
	mapped_file_free(file);
}

/*
 * Closes files for up to CLOSING_NS, because a file system may block each close. If no thread is
 * available, skips the other files of that device, and the next sweep tries again.
 */
static void
close_files(MappedFileTable *table)
{
	uint64_t until_ns = (uint64_t) clock_ns(CLOCK_MONOTONIC) + CLOSING_NS;
	MappedFile **link = &table->closing;
	bool avoids = false;
	uint64_t avoided = 0;

	while (*link != NULL && (uint64_t) clock_ns(CLOCK_MONOTONIC) < until_ns)
	{
		MappedFile *file = *link;

		/*
		 * its device has used up its threads; trying each of its files would use up the time of
		 * this sweep
		 */
		if (avoids && file->key.version.file.device == avoided)
			link = &file->next_closing;
		else if (patience_try_close(&table->patience, file->fd, PATIENCE_CLOSE_NS))
			forget_closed(table, link);
		else
		{
			avoids = true;
			avoided = file->key.version.file.device;
			link = &file->next_closing;
		}
	}
}

void
mapped_file_table_sweep(MappedFileTable *table)
{
	MappedFile *file;
	MappedFile *next;

	pthread_mutex_lock(&table->mutex);
	HASH_ITER(hh, table->files, file, next)
	{
		if (file->references == 0)
			remove_file(table, file);
	}
	pthread_mutex_unlock(&table->mutex);
	close_files(table);
}

size_t
mapped_file_table_referenced(MappedFileTable *table)
{
	size_t count = 0;
	MappedFile *file;
	MappedFile *next;

	pthread_mutex_lock(&table->mutex);
	HASH_ITER(hh, table->files, file, next)
	{
		/* the table itself holds a reference to the vDSO */
		count += file->references > (file == table->vdso ? 1 : 0);
	}
	pthread_mutex_unlock(&table->mutex);
	return count;
}

void
mapped_file_table_stats(MappedFileTable *table, MappedFileStats *stats)
{
	pthread_mutex_lock(&table->mutex);
	*stats = table->stats;
	pthread_mutex_unlock(&table->mutex);
	stats->timeouts = table->patience.timeouts;
}

void *
mapped_file_content(MappedFileTable *table, MappedFile *file, const MappedFileOpener *opener)
{
	if (!file->opened && !is_left_alone(file, (uint64_t) clock_ns(CLOCK_MONOTONIC)))
		open_content(table, file, opener);
	return file->content;
}

const char *
mapped_file_name(const MappedFile *file)
{
	return file->name;
}
