/*
 * binary.c
 *		Opens and describes one ELF file.
 */
#include "symbols/binary.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/hash.h"
#include "files/open_file.h"
#include "symbols/elf/file_id.h"

#define WAIT_NS UINT64_C(1000000000)

static uint64_t
hash_header(const ElfSource *source)
{
	uint8_t page[4096] = { 0 };
	size_t size_bytes = source->size_bytes < sizeof(page) ? source->size_bytes : sizeof(page);

	return elf_source_read(source, 0, page, size_bytes) ? hash_bytes(0, page, size_bytes) : 0;
}

/* Sets the build ID in hexadecimal: the file's own or, if it has none, the hash of file_id.h. */
static void
set_build_id(Binary *binary)
{
	ElfBuildId id = binary->file.build_id;

	_Static_assert(FILE_ID_BYTES <= ELF_BUILD_ID_MAX_BYTES, "the hash takes a build ID's place");
	if (id.size_bytes == 0 && file_id_compute(&binary->file.source, id.bytes))
		id.size_bytes = FILE_ID_BYTES;
	elf_build_id_text(&id, binary->build_id);
}

void
binary_free(Binary *binary)
{
	if (binary->file.source.fd >= 0)
		close(binary->file.source.fd);
	elf_file_fini(&binary->file);
	debug_links_fini(&binary->links);
	free(binary->name);
	free(binary);
}

/* Describes the file of a descriptor. Owns the descriptor, even on failure. */
static int
binary_describe(int fd, const FileIdentity *identity, const char *name, Binary **binary)
{
	ElfSource source = { .fd = fd, .size_bytes = (uint64_t) identity->size_bytes };
	Binary *made = calloc(1, sizeof(*made));
	int err;

	if (made == NULL)
	{
		close(fd);
		return -ENOMEM;
	}
	made->references = 1;
	made->file_identity = *identity;
	made->file.source.fd = fd;
	made->debug_files = DEBUG_FILES_NONE;
	made->name = strdup(name);
	err = made->name == NULL ? -ENOMEM : elf_file_init(&made->file, &source);
	if (err != 0)
	{
		made->file.source.fd = fd;
		binary_free(made);
		return err;
	}
	memcpy(made->twin_key.build_id, made->file.build_id.bytes, made->file.build_id.size_bytes);
	made->twin_key.build_id_bytes = made->file.build_id.size_bytes;
	made->twin_key.size_bytes = source.size_bytes;
	made->twin_key.header_hash = hash_header(&source);
	set_build_id(made);
	debug_links_read(&made->links, &made->file);
	*binary = made;
	return 0;
}

/* A deadline call that opens a binary: the place of the file, and the result. */
typedef struct BinaryProbe
{
	Probe probe;
	char *path;
	char *otherwise; /* NULL: there is only path */
	dev_t device;
	ino_t inode;
	char *name;
	bool of_kernel_only; /* the call must not open files of user-space file systems */
	int error;
	Binary *binary; /* NULL: not opened */
} BinaryProbe;

static int
open_place(const BinaryProbe *probe, struct stat *status, const char **path)
{
	int fd = probe->path[0] != '\0' ? open_file_of_process(probe->path, status) : -ENOENT;

	*path = probe->path;
	if (probe->otherwise == NULL)
		return fd;
	if (fd >= 0 && status->st_dev == probe->device && status->st_ino == probe->inode)
		return fd;
	if (fd >= 0)
		close(fd);
	*path = probe->otherwise;
	return open_file_of_process(probe->otherwise, status);
}

/*
 * Opens the file on the probe's thread. If path leads to another file than the expected one, opens
 * the alternative path.
 */
static void
run_binary(Probe *base)
{
	BinaryProbe *probe = (BinaryProbe *) base;
	FileIdentity identity;
	struct stat status;
	const char *path;
	unsigned pid;
	int fd = open_place(probe, &status, &path);

	probe->error = fd < 0 ? fd : 0;
	if (fd < 0)
		return;
	if (probe->of_kernel_only && !open_file_is_of_kernel(fd))
	{
		close(fd);
		probe->error = -EAGAIN;
		return;
	}
	identity = file_identity_of(&status);
	probe->error = binary_describe(fd, &identity, probe->name, &probe->binary);
	/*
	 * separate debug files are looked up below the root directory of the process whose /proc path
	 * this is
	 */
	if (probe->error != 0)
		return;
	probe->binary->root_pid = sscanf(path, "/proc/%u/", &pid) == 1 ? pid : 0;
	probe->binary->owner = status.st_uid;
}

static void
free_probe(Probe *base)
{
	BinaryProbe *probe = (BinaryProbe *) base;

	if (probe->binary != NULL)
		binary_free(probe->binary);
	free(probe->path);
	free(probe->otherwise);
	free(probe->name);
	free(probe);
}

int
binary_create(Patience *patience, const BinaryPlace *place, const char *name, Binary **binary)
{
	PatienceRoom room = patience_room(patience, place->device);
	BinaryProbe *probe;
	int err;

	if (room == PATIENCE_ROOM_NONE)
		return -EAGAIN;
	probe = calloc(1, sizeof(*probe));
	if (probe == NULL)
		return -ENOMEM;
	probe->of_kernel_only = room == PATIENCE_ROOM_KERNEL;
	probe->probe = (Probe){ .run = run_binary,
							.discard = free_probe,
							.subject = { .device = place->device, .owner = place->owner } };
	probe->path = strdup(place->path);
	probe->otherwise = place->otherwise != NULL ? strdup(place->otherwise) : NULL;
	probe->device = place->device;
	probe->inode = place->inode;
	probe->name = strdup(name);
	if (probe->path == NULL || probe->name == NULL ||
		(place->otherwise != NULL && probe->otherwise == NULL))
	{
		free_probe(&probe->probe);
		return -ENOMEM;
	}
	if (patience_run(patience, &probe->probe, WAIT_NS) != 0)
		return -EAGAIN;
	err = probe->error;
	patience->timeouts += err == -EAGAIN;
	if (err == 0)
		*binary = probe->binary;
	probe->binary = NULL;
	free_probe(&probe->probe);
	return err;
}

void
binary_close(Binary *binary, Patience *patience)
{
	if (binary->file.source.fd >= 0)
		patience_close(patience, binary->file.source.fd);
	binary->file.source.fd = -1;
	debug_files_close(&binary->debug_files, patience);
	binary->debug_files_known = false;
	binary->twin_known = false;
}
