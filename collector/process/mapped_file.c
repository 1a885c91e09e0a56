/*
 * mapped_file.c
 *		Table of mapped files, by what fstat says about them.
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
#include <unistd.h>

#include <elf.h>
#include <uthash.h>

typedef struct ImageFile
{
	uint64_t device;
	uint64_t inode;
} ImageFile;

typedef struct ImageKey
{
	ImageFile file;
	uint64_t size_bytes;
	int64_t mtime_s;
	int64_t mtime_ns;
} ImageKey;

struct Image
{
	ImageKey key;
	char *name;
	char *path;			 /* by which the file may be opened while the process lives */
	int fd;				 /* of the file, as long as the image lives */
	uint32_t references; /* under the table's mutex, as all that follows but binary */
	bool sampled;		 /* some frame lies in it */
	bool opened;		 /* the symbolizer was asked; changed by the flusher thread */
	Binary *binary;		 /* flusher thread; NULL where unreadable */
	UT_hash_handle hh;
	UT_hash_handle
		by_file; /* of the images of one file, which was changed in between, the newest */
};

struct ImageTable
{
	pthread_mutex_t mutex; /* guards all but the images' binaries */
	Image *images;
	Image *by_file;
	Image *vdso;
	bool pending; /* the symbolizer was not asked for some image that was sampled */
	ImageStats stats;
};

static void
image_free(Image *image)
{
	close(image->fd);
	if (image->binary != NULL)
		binary_release(image->binary);
	free(image->name);
	free(image->path);
	free(image);
}

static ImageKey
image_key(const struct stat *status)
{
	ImageKey key;

	memset(&key, 0, sizeof(key));
	key.file.device = status->st_dev;
	key.file.inode = status->st_ino;
	key.size_bytes = (uint64_t) status->st_size;
	key.mtime_s = status->st_mtim.tv_sec;
	key.mtime_ns = status->st_mtim.tv_nsec;
	return key;
}

/* Mutex held. */
static Image *
find_by_file(const ImageTable *table, const ImageFile *file)
{
	Image *image;

	HASH_FIND(by_file, table->by_file, file, sizeof(*file), image);
	return image;
}

/* Mutex held. */
static void
add_image(ImageTable *table, Image *image)
{
	Image *older = find_by_file(table, &image->key.file);

	HASH_ADD(hh, table->images, key, sizeof(image->key), image);
	if (older != NULL)
		HASH_DELETE(by_file, table->by_file, older);
	HASH_ADD(by_file, table->by_file, key.file, sizeof(image->key.file), image);
	table->stats.count++;
}

/* Mutex held, or nobody else left. */
static void
remove_image(ImageTable *table, Image *image)
{
	HASH_DELETE(hh, table->images, image);
	if (find_by_file(table, &image->key.file) == image)
		HASH_DELETE(by_file, table->by_file, image);
	table->stats.count--;
	image_free(image);
}

/* Takes the descriptor over, also on failure. Mutex not held. */
static int
image_intern(ImageTable *table, int fd, const char *name, const char *path, Image **result)
{
	struct stat status;
	ImageKey key;
	Image *image;

	if (fstat(fd, &status) != 0 || !S_ISREG(status.st_mode))
	{
		close(fd);
		return -ENOEXEC;
	}
	key = image_key(&status);

	pthread_mutex_lock(&table->mutex);
	HASH_FIND(hh, table->images, &key, sizeof(key), image);
	if (image != NULL)
		close(fd);
	else
	{
		image = calloc(1, sizeof(*image));
		if (image != NULL)
		{
			image->key = key;
			image->fd = fd;
			image->name = strdup(name);
			image->path = strdup(path);
		}
		if (image == NULL || image->name == NULL || image->path == NULL)
		{
			pthread_mutex_unlock(&table->mutex);
			if (image != NULL)
				image_free(image);
			else
				close(fd);
			return -ENOMEM;
		}
		add_image(table, image);
	}
	image->references++;
	pthread_mutex_unlock(&table->mutex);
	*result = image;
	return 0;
}

/* A copy of our vDSO as a file in memory; -1 where there is none. */
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
	/* the section headers come last in the image that the kernel maps */
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
image_table_create(ImageTable **result)
{
	ImageTable *table = calloc(1, sizeof(*table));
	int fd;

	if (table == NULL)
		return -ENOMEM;
	pthread_mutex_init(&table->mutex, NULL);
	fd = vdso_copy();
	if (fd >= 0 && image_intern(table, fd, "[vdso]", "", &table->vdso) == -ENOMEM)
	{
		image_table_free(table);
		return -ENOMEM;
	}
	*result = table;
	return 0;
}

void
image_table_free(ImageTable *table)
{
	Image *image;
	Image *next;

	if (table == NULL)
		return;
	HASH_ITER(hh, table->images, image, next)
		remove_image(table, image);
	pthread_mutex_destroy(&table->mutex);
	free(table);
}

/*
 * Is the open file what was mapped? Something else may be mapped there by now, or the pid be another process's. Some file
 * systems show other inode numbers in mappings than fstat does: there the name decides.
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
	if (status.st_ino == mapping->inode)
		return true;
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	length = readlink(path, name, sizeof(name) - 1);
	if (length < 0)
		return false;
	name[length] = '\0';
	return proc_cut_deleted(name) == mapping->deleted && strcmp(name, mapping->name) == 0;
}

/*
 * The image of a file that is open already, by what a mapping says of it, with a reference; NULL: none. While it is open
 * device and inode are not used again; where they have been written to since it is another image.
 */
static Image *
find_open(ImageTable *table, const ProcMapping *mapping)
{
	const ImageFile file = { mapping->device, mapping->inode };
	struct stat status;
	ImageKey key;
	Image *image;

	pthread_mutex_lock(&table->mutex);
	image = find_by_file(table, &file);
	if (image != NULL)
		image->references++;
	pthread_mutex_unlock(&table->mutex);
	if (image == NULL)
		return NULL;
	if (fstat(image->fd, &status) == 0)
	{
		key = image_key(&status);
		if (memcmp(&key, &image->key, sizeof(key)) == 0)
			return image;
	}
	image_release(table, image);
	return NULL;
}

int
image_acquire_mapping(ImageTable *table, uint32_t pid, const ProcMapping *mapping, Image **image)
{
	char path[4096 + 64];
	struct stat status;
	int error = ESTALE;
	int fd;

	/* most files of a new process are known; other names are looked at, for want of trust in inode numbers */
	*image = find_open(table, mapping);
	if (*image != NULL && strcmp((*image)->name, mapping->name) == 0)
		return 0;
	image_release(table, *image);
	snprintf(path, sizeof(path), "/proc/%u/map_files/%llx-%llx", pid,
			 (unsigned long long) mapping->start, (unsigned long long) mapping->end);
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (fd < 0)
		error = errno;
	else if (!is_file_of(fd, mapping))
	{
		close(fd);
		fd = -1;
	}
	snprintf(path, sizeof(path), "/proc/%u/root%s", pid, mapping->name);
	if (fd < 0 && !mapping->deleted && mapping->name[0] == '/')
	{
		/* without CAP_CHECKPOINT_RESTORE, or with the mapping changed since: by name */
		fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
		if (fd < 0)
			error = errno;
		else if (fstat(fd, &status) != 0 || status.st_ino != mapping->inode)
		{
			close(fd);
			return -ESTALE;
		}
	}
	if (fd < 0)
		return -error;
	return image_intern(table, fd, mapping->name, mapping->deleted ? "" : path, image);
}

int
image_acquire_executable(ImageTable *table, uint32_t pid, const char *name, Image **image)
{
	char path[4096 + 64];
	int fd;

	snprintf(path, sizeof(path), "/proc/%u/exe", pid);
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (fd < 0)
		return -errno;
	snprintf(path, sizeof(path), "/proc/%u/root%s", pid, name);
	return image_intern(table, fd, name, path, image);
}

int
image_acquire_past(ImageTable *table, uint32_t root_pid, const ProcMapping *mapping, Image **image)
{
	char root[32] = "";
	char path[4096 + 64];
	struct stat status;
	int fd;

	*image = find_open(table, mapping);
	if (*image != NULL)
		return 0;
	if (mapping->deleted || mapping->name[0] != '/')
		return -ENOENT;
	if (root_pid != 0)
		snprintf(root, sizeof(root), "/proc/%u/root", root_pid);
	snprintf(path, sizeof(path), "%s%s", root, mapping->name);
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (fd < 0)
		return -errno;
	if (fstat(fd, &status) != 0 || status.st_ino != mapping->inode ||
		status.st_dev != mapping->device)
	{
		close(fd);
		return -ESTALE;
	}
	return image_intern(table, fd, mapping->name, path, image);
}

int
image_descriptor(const Image *image)
{
	return image->fd;
}

Image *
image_acquire_vdso(ImageTable *table)
{
	if (table->vdso != NULL)
		image_retain(table, table->vdso);
	return table->vdso;
}

void
image_retain(ImageTable *table, Image *image)
{
	pthread_mutex_lock(&table->mutex);
	image->references++;
	pthread_mutex_unlock(&table->mutex);
}

void
image_retain_sampled(ImageTable *table, Image *image)
{
	pthread_mutex_lock(&table->mutex);
	image->references++;
	image->sampled = true;
	if (!image->opened)
		table->pending = true;
	pthread_mutex_unlock(&table->mutex);
}

void
image_release(ImageTable *table, Image *image)
{
	if (image == NULL)
		return;
	pthread_mutex_lock(&table->mutex);
	image->references--;
	pthread_mutex_unlock(&table->mutex);
}

/*
 * Opens the binary through the descriptor, which is sure to be the file that was mapped. The name
 * under the process's root is better where it is the same file: separate debug files are then
 * looked for in its container. The mutex is not held: reading an ELF file may take a while.
 */
static void
image_open(ImageTable *table, Image *image, Symbolizer *symbolizer)
{
	char path[64];
	struct stat status;
	int result = -1;

	if (image->path[0] != '\0' && stat(image->path, &status) == 0 &&
		status.st_dev == image->key.file.device && status.st_ino == image->key.file.inode)
		result = binary_open(symbolizer, image->path, image->name, &image->binary);
	if (result != 0)
	{
		snprintf(path, sizeof(path), "/proc/%d/fd/%d", (int) getpid(), image->fd);
		result = binary_open(symbolizer, path, image->name, &image->binary);
	}
	if (result != 0)
		image->binary = NULL;
	pthread_mutex_lock(&table->mutex);
	image->opened = true;
	if (result == 0)
		table->stats.opened++;
	else
		table->stats.unreadable++;
	pthread_mutex_unlock(&table->mutex);
}

/* The next image to open, with a reference. */
static Image *
next_pending(ImageTable *table)
{
	Image *found = NULL;

	pthread_mutex_lock(&table->mutex);
	if (table->pending)
	{
		Image *image;
		Image *next;

		HASH_ITER(hh, table->images, image, next)
		{
			if (image->sampled && !image->opened)
			{
				found = image;
				found->references++;
				break;
			}
		}
		table->pending = found != NULL;
	}
	pthread_mutex_unlock(&table->mutex);
	return found;
}

void
image_table_open_pending(ImageTable *table, Symbolizer *symbolizer)
{
	Image *image;

	while ((image = next_pending(table)) != NULL)
	{
		image_open(table, image, symbolizer);
		image_release(table, image);
	}
}

void
image_table_sweep(ImageTable *table)
{
	Image *image;
	Image *next;

	pthread_mutex_lock(&table->mutex);
	HASH_ITER(hh, table->images, image, next)
	{
		if (image->references == 0)
			remove_image(table, image);
	}
	pthread_mutex_unlock(&table->mutex);
}

size_t
image_table_referenced(ImageTable *table)
{
	size_t count = 0;
	Image *image;
	Image *next;

	pthread_mutex_lock(&table->mutex);
	HASH_ITER(hh, table->images, image, next)
	{
		/* the table itself refers to the vDSO */
		count += image->references > (image == table->vdso ? 1 : 0);
	}
	pthread_mutex_unlock(&table->mutex);
	return count;
}

void
image_table_stats(ImageTable *table, ImageStats *stats)
{
	pthread_mutex_lock(&table->mutex);
	*stats = table->stats;
	pthread_mutex_unlock(&table->mutex);
}

Binary *
image_binary(ImageTable *table, Image *image, Symbolizer *symbolizer)
{
	if (!image->opened)
		image_open(table, image, symbolizer);
	return image->binary;
}

const char *
image_name(const Image *image)
{
	return image->name;
}
