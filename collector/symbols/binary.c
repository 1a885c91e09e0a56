/*
 * binary.c
 *		Opening and describing one ELF file.
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
#include "symbols/file_id.h"

int
binary_open_file(const char *path, FileIdentity *identity)
{
	struct stat status;
	int fd = open_file_of_process(path, &status);

	if (fd < 0)
		return fd;
	memset(identity, 0, sizeof(*identity));
	identity->device = status.st_dev;
	identity->inode = status.st_ino;
	identity->size_bytes = status.st_size;
	identity->changed = status.st_ctim;
	return fd;
}

static uint64_t
hash_header(const ElfSource *source)
{
	uint8_t page[4096] = { 0 };
	size_t size_bytes = source->size_bytes < sizeof(page) ? source->size_bytes : sizeof(page);

	return elf_source_read(source, 0, page, size_bytes) ? hash_bytes(0, page, size_bytes) : 0;
}

void
binary_note_root(Binary *binary, const char *path)
{
	unsigned pid;

	binary->root_pid = sscanf(path, "/proc/%u/", &pid) == 1 ? pid : 0;
}

/* In hexadecimal; a file's own, or what stands for it. */
static void
set_build_id(Binary *binary)
{
	static const char digits[] = "0123456789abcdef";
	const uint8_t *id = binary->file.build_id.bytes;
	uint32_t id_bytes = binary->file.build_id.size_bytes;
	uint8_t computed[FILE_ID_BYTES];

	if (id_bytes == 0 && file_id_compute(&binary->file.source, computed))
	{
		id = computed;
		id_bytes = sizeof(computed);
	}
	for (uint32_t i = 0; i < id_bytes; i++)
	{
		binary->build_id[2 * i] = digits[id[i] >> 4];
		binary->build_id[2 * i + 1] = digits[id[i] & 15];
	}
}

void
binary_free(Binary *binary)
{
	if (binary->file.source.fd >= 0)
		close(binary->file.source.fd);
	elf_file_fini(&binary->file);
	debug_files_close(&binary->debug_files);
	free(binary->name);
	free(binary);
}

int
binary_create(int fd, const FileIdentity *identity, const char *path, const char *name,
			  Binary **binary)
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
	binary_note_root(made, path);
	made->name = strdup(name);
	err = made->name == NULL ? -ENOMEM : elf_file_init(&made->file, &source);
	if (err != 0)
	{
		made->file.source.fd = fd;
		binary_free(made);
		return err;
	}
	memcpy(made->content.build_id, made->file.build_id.bytes, made->file.build_id.size_bytes);
	made->content.build_id_bytes = made->file.build_id.size_bytes;
	made->content.size_bytes = source.size_bytes;
	made->content.header_hash = hash_header(&source);
	set_build_id(made);
	*binary = made;
	return 0;
}

void
binary_close(Binary *binary)
{
	close(binary->file.source.fd);
	binary->file.source.fd = -1;
	debug_files_close(&binary->debug_files);
	binary->debug_files_known = false;
}
