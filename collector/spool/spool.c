/*
 * spool.c
 *		Files of batches: a head, checked by a hash, and the compressed image of the batch, checked
 *		by the checksum that zstd adds to its frame.
 *
 * Numbers in a head are in the machine's own byte order: a spool is read where it was written.
 */
#include "spool/spool.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zstd.h>

#include "base/cache_directory.h"
#include "base/clock.h"
#include "base/directory.h"
#include "base/grow.h"
#include "base/hash.h"
#include "base/read_at.h"
#include "spool/batch_image.h"

#define FILE_MAGIC	 "PFSSPOOL"
#define FILE_VERSION 1
#define FILE_SUFFIX	 ".batch"
#define NEW_SUFFIX	 ".new"
#define LOCK_NAME	 "lock"

/* The fastest level, because files are kept for a short time only. */
#define ZSTD_LEVEL 1

/* UUID and number as hexadecimal digits, a '-' between them, and the longest suffix. */
#define NAME_BYTES (2 * WRITER_UUID_BYTES + 1 + 16 + sizeof(FILE_SUFFIX NEW_SUFFIX))

/* Limits of the sizes that a file may state. A flight of the writer is smaller. */
#define IMAGE_BYTES_MAX	  (UINT64_C(512) << 20)
#define BATCH_BYTES_MAX	  (UINT64_C(1) << 30)
/* a batch may take more memory when it is read, because its tables may grow to other sizes */
#define BATCH_BYTES_SPARE (UINT64_C(1) << 20)

typedef struct FileHead
{
	char magic[8];
	uint32_t version;
	uint32_t reserved; /* 0 */
	char writer[WRITER_UUID_BYTES];
	uint64_t number;
	uint64_t parent;
	uint64_t samples;
	uint64_t batch_bytes;
	int64_t put_us;
	uint64_t image_bytes; /* before compression */
	uint64_t body_bytes;  /* size of the part after the head */
	uint64_t check;		  /* hash of the fields above */
} FileHead;

_Static_assert(sizeof(FileHead) == 96, "the head of a file has no padding");

struct Spool
{
	int fd;
	int lock_fd;
	_Atomic uint64_t bytes;
	SpooledBatch *found;
	size_t found_count;
	size_t found_capacity;
	size_t damaged;
	size_t unreadable;
};

static uint64_t
head_check(const FileHead *head)
{
	return hash_bytes(HASH_OFFSET, head, offsetof(FileHead, check));
}

static void
write_name(const BatchId *id, const char *suffix, char name[NAME_BYTES])
{
	char *at = name;

	for (int i = 0; i < WRITER_UUID_BYTES; i++)
		at += sprintf(at, "%02x", (unsigned char) id->writer[i]);
	snprintf(at, NAME_BYTES - (size_t) (at - name), "-%016" PRIx64 "%s", id->number, suffix);
}

static bool
has_suffix(const char *name, const char *suffix)
{
	size_t length = strlen(name);
	size_t suffix_length = strlen(suffix);

	return length > suffix_length && strcmp(name + length - suffix_length, suffix) == 0;
}

/* --- one file --- */

/*
 * Reads and checks the head of an open file. Returns 0; -EBADMSG if the head is damaged, or if its
 * body is shorter than it states; -errno.
 */
static int
spool_head_read(int fd, FileHead *head)
{
	struct stat status;
	int err = read_at(fd, 0, head, sizeof(*head));

	if (err != 0)
		return err;
	if (fstat(fd, &status) != 0)
		return -errno;
	/* The limits and the size of the file bound the memory that read_body() allocates. */
	if (memcmp(head->magic, FILE_MAGIC, sizeof(head->magic)) != 0 ||
		head->version != FILE_VERSION || head->check != head_check(head) ||
		head->image_bytes > IMAGE_BYTES_MAX || head->batch_bytes > BATCH_BYTES_MAX ||
		(uint64_t) status.st_size != sizeof(*head) + head->body_bytes)
		return -EBADMSG;
	return 0;
}

/* Opens a file of the directory and reads its head. Returns a descriptor or -errno. */
static int
spool_file_open(const Spool *spool, const char *name, FileHead *head)
{
	/*
	 * O_NONBLOCK: opening a FIFO of this name would wait for its writer. O_NOFOLLOW: a link may
	 * lead anywhere.
	 */
	int fd = openat(spool->fd, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	int err;

	if (fd < 0)
		return -errno;
	err = spool_head_read(fd, head);
	if (err == 0)
		return fd;
	close(fd);
	return err;
}

static SpooledBatch
batch_of_head(const FileHead *head)
{
	SpooledBatch spooled = { .id.number = head->number,
							 .parent = head->parent,
							 .samples = head->samples,
							 .file_bytes = sizeof(*head) + head->body_bytes,
							 .batch_bytes = head->batch_bytes,
							 .put_us = head->put_us };

	memcpy(spooled.id.writer, head->writer, sizeof(spooled.id.writer));
	return spooled;
}

/* Makes the compressed image of a batch, after room for a head. Returns 0 or -ENOMEM. */
static int
pack_batch(const Batch *batch, BatchImage *packed, FileHead *head)
{
	BatchImage image = { NULL };
	ZSTD_CCtx *context = ZSTD_createCCtx();
	int err = context != NULL ? batch_image_write(&image, batch) : -ENOMEM;

	*packed = (BatchImage){ NULL };
	if (err == 0)
	{
		/* room for the head, so that the file is written by one call */
		packed->capacity = sizeof(*head) + ZSTD_compressBound(image.length);
		packed->bytes = malloc(packed->capacity);
		err = packed->bytes != NULL ? 0 : -ENOMEM;
	}
	if (err == 0)
	{
		size_t length;

		ZSTD_CCtx_setParameter(context, ZSTD_c_compressionLevel, ZSTD_LEVEL);
		ZSTD_CCtx_setParameter(context, ZSTD_c_checksumFlag, 1);
		length = ZSTD_compress2(context, packed->bytes + sizeof(*head),
								packed->capacity - sizeof(*head), image.bytes, image.length);
		/* The capacity suffices for any input, so zstd fails only for lack of memory. */
		err = ZSTD_isError(length) ? -ENOMEM : 0;
		head->image_bytes = image.length;
		head->body_bytes = err == 0 ? length : 0;
		packed->length = sizeof(*head) + head->body_bytes;
	}
	ZSTD_freeCCtx(context);
	free(image.bytes);
	return err;
}

/* Writes a file under a temporary name and flushes it to disk. Returns 0 or -errno. */
static int
spool_file_write(const Spool *spool, const char *name, const BatchImage *packed)
{
	/* O_TRUNC: a temporary file may be left of an attempt that failed */
	int fd = openat(spool->fd, name, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600);
	int err;

	if (fd < 0)
		return -errno;
	err = cache_file_write(fd, packed->bytes, packed->length);
	if (err == 0 && fsync(fd) != 0)
		err = -errno;
	/* close() may report a failed write, for example on a full network file system */
	if (close(fd) != 0 && err == 0)
		err = -errno;
	return err;
}

int
spool_sync(Spool *spool)
{
	return fsync(spool->fd) == 0 ? 0 : -errno;
}

int
spool_put(Spool *spool, const Batch *batch, SpooledBatch *spooled)
{
	FileHead head = { .version = FILE_VERSION,
					  .number = spooled->id.number,
					  .parent = spooled->parent,
					  .samples = spooled->samples,
					  .batch_bytes = batch_bytes(batch),
					  .put_us = clock_ns(CLOCK_REALTIME) / 1000 };
	char name[NAME_BYTES];
	char new_name[NAME_BYTES];
	BatchImage packed;
	int err = pack_batch(batch, &packed, &head);

	memcpy(head.magic, FILE_MAGIC, sizeof(head.magic));
	memcpy(head.writer, spooled->id.writer, sizeof(head.writer));
	write_name(&spooled->id, FILE_SUFFIX, name);
	write_name(&spooled->id, FILE_SUFFIX NEW_SUFFIX, new_name);
	/* such a file would be refused when it is read */
	if (err == 0 && (head.image_bytes > IMAGE_BYTES_MAX || head.batch_bytes > BATCH_BYTES_MAX))
		err = -EFBIG;
	if (err == 0)
	{
		head.check = head_check(&head);
		memcpy(packed.bytes, &head, sizeof(head));
		err = spool_file_write(spool, new_name, &packed);
		/*
		 * 1. The content is on disk. 2. The name: after a crash the file exists completely or not
		 * at all. 3. The directory, without which a power cut may undo the renaming.
		 */
		if (err == 0 && renameat(spool->fd, new_name, spool->fd, name) != 0)
			err = -errno;
		if (err == 0)
			err = spool_sync(spool);
		/* the batch stays in memory and would be stored twice if the file appeared later */
		if (err != 0)
		{
			(void) unlinkat(spool->fd, new_name, 0);
			(void) unlinkat(spool->fd, name, 0);
		}
	}
	free(packed.bytes);
	if (err != 0)
		return err;
	*spooled = batch_of_head(&head);
	atomic_fetch_add(&spool->bytes, spooled->file_bytes);
	return 0;
}

/* Reads and unpacks the body of a file. Returns 0 or -errno. */
static int
read_body(int fd, const FileHead *head, Batch **batch)
{
	/* plus one, because malloc(0) may return NULL */
	void *body = malloc((size_t) head->body_bytes + 1);
	void *image = malloc((size_t) head->image_bytes + 1);
	int err = body != NULL && image != NULL ? 0 : -ENOMEM;

	if (err == 0)
		err = read_at(fd, sizeof(*head), body, (size_t) head->body_bytes);
	if (err == 0 && ZSTD_decompress(image, (size_t) head->image_bytes, body,
									(size_t) head->body_bytes) != head->image_bytes)
		err = -EBADMSG;
	free(body);
	if (err == 0)
		/*
		 * A batch that was put together step by step may have tables of other sizes than one that
		 * is read at once.
		 */
		err = batch_image_read(image, (size_t) head->image_bytes,
							   (size_t) (2 * head->batch_bytes + BATCH_BYTES_SPARE), batch);
	free(image);
	return err;
}

int
spool_take(Spool *spool, const SpooledBatch *spooled, Batch **batch)
{
	char name[NAME_BYTES];
	FileHead head;
	int fd;
	int err;

	write_name(&spooled->id, FILE_SUFFIX, name);
	/*
	 * The head is read again, because the file may have been changed since the directory was
	 * opened.
	 */
	fd = spool_file_open(spool, name, &head);
	if (fd < 0)
		return fd;
	err = read_body(fd, &head, batch);
	close(fd);
	return err;
}

int
spool_remove(Spool *spool, const SpooledBatch *spooled)
{
	char name[NAME_BYTES];

	write_name(&spooled->id, FILE_SUFFIX, name);
	/* a file that is missing was removed by hand; its bytes are free all the same */
	if (unlinkat(spool->fd, name, 0) != 0 && errno != ENOENT)
		return -errno;
	atomic_fetch_sub(&spool->bytes, spooled->file_bytes);
	return 0;
}

/* --- the directory --- */

/* Orders by writer, then by number. */
static int
compare_writer_ids(const void *left, const void *right)
{
	const SpooledBatch *a = left;
	const SpooledBatch *b = right;
	int writers = memcmp(a->id.writer, b->id.writer, sizeof(a->id.writer));

	return writers != 0 ? writers : (a->id.number > b->id.number) - (a->id.number < b->id.number);
}

/* A run of batches of one writer. Runs are sorted by the time at which they were begun. */
typedef struct WriterRun
{
	size_t first;
	size_t count;
	int64_t begun_us;
} WriterRun;

static int
compare_runs(const void *left, const void *right)
{
	const WriterRun *a = left;
	const WriterRun *b = right;

	if (a->begun_us != b->begun_us)
		return a->begun_us < b->begun_us ? -1 : 1;
	return (a->first > b->first) - (a->first < b->first);
}

/*
 * Sorts the found batches, which are sorted by id, by the time at which their writers began.
 * Returns 0 or -ENOMEM.
 */
static int
order_writers(Spool *spool)
{
	WriterRun *runs = calloc(spool->found_count + 1, sizeof(WriterRun));
	SpooledBatch *ordered = calloc(spool->found_count + 1, sizeof(SpooledBatch));
	size_t run_count = 0;
	size_t at = 0;

	if (runs == NULL || ordered == NULL)
	{
		free(runs);
		free(ordered);
		return -ENOMEM;
	}
	for (size_t i = 0; i < spool->found_count; i++)
	{
		const SpooledBatch *batch = &spool->found[i];

		/* the first batch of a writer has the lowest number, and so the oldest time */
		if (i == 0 || memcmp(batch->id.writer, batch[-1].id.writer, WRITER_UUID_BYTES) != 0)
			runs[run_count++] = (WriterRun){ .first = i, .begun_us = batch->put_us };
		runs[run_count - 1].count++;
	}
	qsort(runs, run_count, sizeof(WriterRun), compare_runs);
	for (size_t i = 0; i < run_count; i++)
	{
		memcpy(&ordered[at], &spool->found[runs[i].first], runs[i].count * sizeof(SpooledBatch));
		at += runs[i].count;
	}
	free(runs);
	free(spool->found);
	spool->found = ordered;
	return 0;
}

/*
 * Removes pieces whose parent exists. The batches must be sorted by id. Returns 0, or -errno if a
 * piece stays: once its parent is stored and removed, the piece would be stored a second time.
 */
static int
drop_orphans(Spool *spool)
{
	size_t kept = 0;
	int err = 0;

	for (size_t i = 0; err == 0 && i < spool->found_count; i++)
	{
		SpooledBatch *batch = &spool->found[i];
		SpooledBatch parent = *batch;

		/*
		 * The division was interrupted: the parent's file still has all samples, and the parent is
		 * divided again.
		 */
		parent.id.number = batch->parent;
		/* the number of a parent is below those of its pieces, so it was examined before */
		if (batch->parent != 0 &&
			bsearch(&parent, spool->found, kept, sizeof(parent), compare_writer_ids) != NULL)
			err = spool_remove(spool, batch);
		else
			spool->found[kept++] = *batch;
	}
	spool->found_count = kept;
	return err;
}

/*
 * Adds a file to the found batches; removes it if it is a leftover or damaged. Returns 0 or -errno.
 */
static int
find_file(Spool *spool, const char *name)
{
	FileHead head;
	char expected[NAME_BYTES];
	SpooledBatch batch;
	int err;
	int fd;

	/* The process ended before spool_put() renamed the file, so no caller relies on it. */
	if (has_suffix(name, FILE_SUFFIX NEW_SUFFIX))
	{
		(void) unlinkat(spool->fd, name, 0);
		return 0;
	}
	if (!has_suffix(name, FILE_SUFFIX))
		return 0;
	fd = spool_file_open(spool, name, &head);
	if (fd == -ENOMEM || fd == -EMFILE || fd == -ENFILE)
		return fd;
	/* keep the file: it is not ours, or the disk failed */
	if (fd < 0 && fd != -EBADMSG)
	{
		spool->unreadable++;
		return 0;
	}
	/* a valid head under another name was copied by hand; storing it would store its batch twice */
	if (fd >= 0)
	{
		close(fd);
		batch = batch_of_head(&head);
		write_name(&batch.id, FILE_SUFFIX, expected);
	}
	if (fd < 0 || strcmp(name, expected) != 0)
	{
		spool->damaged++;
		(void) unlinkat(spool->fd, name, 0);
		return 0;
	}
	err = grow_array(&spool->found, &spool->found_capacity, spool->found_count, sizeof(batch));
	if (err == 0)
	{
		spool->found[spool->found_count++] = batch;
		atomic_fetch_add(&spool->bytes, batch.file_bytes);
	}
	return err;
}

/* Reads the directory. Returns 0 or -errno. */
static int
spool_find_files(Spool *spool)
{
	const struct dirent *entry;
	DIR *directory;
	int err = directory_open(spool->fd, ".", &directory);

	if (err != 0)
		return err;
	while (err == 0 && (err = directory_next(directory, &entry)) == 0 && entry != NULL)
		err = find_file(spool, entry->d_name);
	closedir(directory);
	return err;
}

/* Puts the found batches in the order in which they must be stored. Returns 0 or -errno. */
static int
spool_order_found(Spool *spool)
{
	int err;

	if (spool->found_count == 0)
		return 0;
	/* sorted by id for drop_orphans(), which order_writers() needs, too */
	qsort(spool->found, spool->found_count, sizeof(SpooledBatch), compare_writer_ids);
	err = drop_orphans(spool);
	return err == 0 ? order_writers(spool) : err;
}

/* Opens and locks the directory. Returns NULL; on failure, the reason. */
static const char *
claim_directory(Spool *spool, const char *path, int *err)
{
	bool is_new = mkdir(path, 0700) == 0;
	struct stat status;

	*err = 0;
	if (is_new || errno == EEXIST)
		spool->fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (spool->fd < 0 || fstat(spool->fd, &status) != 0)
	{
		*err = errno;
		return "could not open the spool directory";
	}
	/*
	 * A power cut must not remove the directory with its batches: its name is in the directory
	 * above, which this user may not be allowed to open.
	 */
	if (is_new && syncfs(spool->fd) != 0)
	{
		*err = errno;
		return "could not flush the new spool directory to disk";
	}
	/*
	 * another user could put batches there, which this process would store with its rights in the
	 * database
	 */
	if (status.st_uid != geteuid() || (status.st_mode & (S_IWGRP | S_IWOTH)) != 0)
		return "spool directory has another owner, or others may write into it";
	spool->lock_fd = openat(spool->fd, LOCK_NAME, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (spool->lock_fd < 0)
	{
		*err = errno;
		return "could not lock the spool directory";
	}
	/* The kernel releases the lock when the process ends, however it ends. */
	if (flock(spool->lock_fd, LOCK_EX | LOCK_NB) == 0)
		return NULL;
	*err = errno == EWOULDBLOCK ? 0 : errno;
	return *err == 0 ? "spool directory is in use by another process"
					 : "could not lock the spool directory";
}

ExitCode
spool_open(const char *path, Spool **spool, Failure *failure)
{
	Spool *self = calloc(1, sizeof(Spool));
	const char *problem;
	int err;

	if (self == NULL)
		return failure_out_of_memory(failure);
	self->fd = self->lock_fd = -1;
	problem = claim_directory(self, path, &err);
	if (problem == NULL)
	{
		err = -spool_find_files(self);
		if (err != 0)
			problem = "could not read the spool directory";
	}
	if (problem == NULL)
	{
		err = -spool_order_found(self);
		if (err != 0)
			problem = "could not put the batches of the spool directory in order";
	}
	if (problem == NULL)
	{
		*spool = self;
		return EXIT_OK;
	}
	spool_close(self);
	failure_set(failure, EXIT_CONFIG, problem);
	failure_detail(failure, err != 0 ? "\"%s\": %s." : "It is \"%s\".%s", path,
				   err != 0 ? strerror(err) : "");
	if (err == 0)
		failure_hint(failure, "Use a directory for this process alone, which belongs to its user "
							  "and has mode 0700.");
	return failure->code;
}

void
spool_close(Spool *spool)
{
	if (spool == NULL)
		return;
	if (spool->lock_fd >= 0)
		close(spool->lock_fd);
	if (spool->fd >= 0)
		close(spool->fd);
	free(spool->found);
	free(spool);
}

size_t
spool_found(const Spool *spool, const SpooledBatch **found)
{
	*found = spool->found;
	return spool->found_count;
}

size_t
spool_damaged(const Spool *spool)
{
	return spool->damaged;
}

size_t
spool_unreadable(const Spool *spool)
{
	return spool->unreadable;
}

uint64_t
spool_bytes(const Spool *spool)
{
	return atomic_load(&spool->bytes);
}
