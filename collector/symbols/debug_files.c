/*
 * debug_files.c
 *		Finds separate debug files, and unpacks mini debug information.
 *
 * A container's file system belongs to whoever runs in it: paths are resolved inside of its root,
 * so that a link cannot lead to the host's files, and only regular files are read.
 */
#include "symbols/debug_files.h"

#include <limits.h>
#include <lzma.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "files/open_file.h"

#define MINI_PACKED_MAX_BYTES (8U << 20)
#define MINI_MAX_BYTES		  (16U << 20)
#define MINI_MEMORY_BYTES	  (64U << 20)  /* of the decoder */
#define CHECKSUM_MAX_BYTES	  (1ULL << 30) /* a larger file without build ID is not read through */

/* What tells that a file is the right one. */
typedef struct Proof
{
	const uint8_t *build_id;
	uint32_t build_id_bytes; /* 0: checksum only */
	bool has_checksum;
	uint32_t checksum;
} Proof;

static bool
checksum_matches(const ElfSource *source, uint32_t expected)
{
	uint8_t block[16384];
	uint32_t checksum = 0;
	uint64_t at = 0;

	if (source->size_bytes > CHECKSUM_MAX_BYTES)
		return false;
	while (at < source->size_bytes)
	{
		uint64_t left = source->size_bytes - at;
		size_t step = left < sizeof(block) ? (size_t) left : sizeof(block);

		if (!elf_source_read(source, at, block, step))
			return false;
		checksum = lzma_crc32(block, step, checksum);
		at += step;
	}
	return checksum == expected;
}

static bool
is_proven(const ElfFile *file, const Proof *proof)
{
	if (proof->build_id_bytes > 0 && file->build_id.size_bytes > 0)
		return file->build_id.size_bytes == proof->build_id_bytes &&
			   memcmp(file->build_id.bytes, proof->build_id, proof->build_id_bytes) == 0;
	return proof->has_checksum && checksum_matches(&file->source, proof->checksum);
}

/*
 * Opens the file at a path if it is the right one; file is as debug_files_close expects it either
 * way.
 */
static bool
try_path(ElfFile *file, int root_fd, const char *path, const Proof *proof)
{
	struct stat status;
	ElfSource source = { .fd = open_file_inside(root_fd, path, &status) };

	if (source.fd < 0)
		return false;
	source.size_bytes = (uint64_t) status.st_size;
	if (elf_file_init(file, &source) == 0)
	{
		if (is_proven(file, proof))
			return true;
		elf_file_fini(file);
	}
	file->source.fd = -1;
	close(source.fd);
	return false;
}

/* DIR/.build-id/xx/yyyy.debug */
static bool
try_build_id(ElfFile *file, int root_fd, const char *directory, const Proof *proof)
{
	char digits[2 * ELF_BUILD_ID_MAX_BYTES + 1] = "";
	char path[PATH_MAX];

	if (proof->build_id_bytes < 2 || directory[0] == '\0')
		return false;
	for (uint32_t i = 0; i < proof->build_id_bytes; i++)
		snprintf(digits + 2 * i, 3, "%02x", proof->build_id[i]);
	snprintf(path, sizeof(path), "%s/.build-id/%.2s/%s.debug", directory, digits, digits + 2);
	return try_path(file, root_fd, path, proof);
}

/* By the name in .gnu_debuglink, which is a name and no path. */
static bool
try_link(ElfFile *file, int root_fd, const DebugPlaces *places, const char *link,
		 const Proof *proof)
{
	const char *end = strrchr(places->name, '/');
	int length = end != NULL ? (int) (end - places->name) : 0;
	char path[PATH_MAX];

	if (places->name[0] != '/' || end - places->name > PATH_MAX)
		return false;
	snprintf(path, sizeof(path), "%.*s/%s", length, places->name, link);
	if (strcmp(path, places->name) != 0 && try_path(file, root_fd, path, proof))
		return true;
	snprintf(path, sizeof(path), "%.*s/.debug/%s", length, places->name, link);
	if (try_path(file, root_fd, path, proof))
		return true;
	if (places->directory[0] == '\0')
		return false;
	snprintf(path, sizeof(path), "%s%.*s/%s", places->directory, length, places->name, link);
	return try_path(file, root_fd, path, proof);
}

/* .gnu_debuglink: name, NUL, padding to 4 bytes, checksum. */
static bool
read_link(const ElfFile *binary, char name[NAME_MAX + 1], Proof *proof)
{
	const ElfExtent *section = &binary->debug_link;
	uint64_t checksum_at;

	if (!elf_source_string(&binary->source, section, 0, name, NAME_MAX + 1) || name[0] == '\0' ||
		strchr(name, '/') != NULL || strcmp(name, ".") == 0 || strcmp(name, "..") == 0)
		return false;
	checksum_at = (strlen(name) + 1 + 3) & ~3ULL;
	if (checksum_at + sizeof(proof->checksum) > section->size_bytes ||
		!elf_source_read(&binary->source, section->offset + checksum_at, &proof->checksum,
						 sizeof(proof->checksum)))
		return false;
	proof->has_checksum = true;
	return true;
}

static void
find_debug_file(DebugFiles *files, const ElfFile *binary, const DebugPlaces *places,
				const int *root_fds, int root_count)
{
	Proof proof = { .build_id = binary->build_id.bytes,
					.build_id_bytes = binary->build_id.size_bytes };
	char link[NAME_MAX + 1];

	for (int i = 0; i < root_count; i++)
		if (try_build_id(&files->debug, root_fds[i], places->directory, &proof))
			return;
	if (!read_link(binary, link, &proof))
		return;
	for (int i = 0; i < root_count; i++)
		if (try_link(&files->debug, root_fds[i], places, link, &proof))
			return;
}

/*
 * .gnu_debugaltlink: path, NUL, build ID of the supplement that dwz made for several debug files.
 */
static void
find_supplement(DebugFiles *files, const ElfFile *with_dwarf, const DebugPlaces *places,
				const int *root_fds, int root_count)
{
	const ElfExtent *section = &with_dwarf->debug_alt_link;
	uint8_t build_id[ELF_BUILD_ID_MAX_BYTES];
	Proof proof = { .build_id = build_id };
	char path[PATH_MAX];
	ElfFile file;
	size_t length;

	if (!elf_source_string(&with_dwarf->source, section, 0, path, sizeof(path)))
		return;
	length = strlen(path) + 1;
	if (length >= section->size_bytes || section->size_bytes - length > sizeof(build_id) ||
		!elf_source_read(&with_dwarf->source, section->offset + length, build_id,
						 section->size_bytes - length))
		return;
	proof.build_id_bytes = (uint32_t) (section->size_bytes - length);
	for (int i = 0; i < root_count && files->alt_fd < 0; i++)
	{
		if (!try_build_id(&file, root_fds[i], places->directory, &proof) &&
			(path[0] != '/' || !try_path(&file, root_fds[i], path, &proof)))
			continue;
		files->alt_fd = file.source.fd;
		elf_file_fini(&file);
	}
}

/*
 * Unpacks xz into a buffer of MINI_MAX_BYTES; returns how many bytes, 0 where it is no sound xz
 * stream.
 */
static size_t
unpack(const uint8_t *packed, size_t packed_bytes, uint8_t *bytes)
{
	lzma_stream stream = LZMA_STREAM_INIT;
	size_t size_bytes = 0;

	if (lzma_stream_decoder(&stream, MINI_MEMORY_BYTES, 0) != LZMA_OK)
		return 0;
	stream.next_in = packed;
	stream.avail_in = packed_bytes;
	stream.next_out = bytes;
	stream.avail_out = MINI_MAX_BYTES;
	if (lzma_code(&stream, LZMA_FINISH) == LZMA_STREAM_END)
		size_bytes = stream.total_out;
	lzma_end(&stream);
	return size_bytes;
}

/* Reads .gnu_debugdata: an ELF file of symbols that .dynsym lacks. */
static void
read_mini(DebugFiles *files, const ElfFile *binary)
{
	const ElfExtent *section = &binary->debug_data;
	ElfSource source = { .fd = -1 };
	uint8_t *packed;
	uint8_t *bytes;

	if (section->size_bytes == 0 || section->size_bytes > MINI_PACKED_MAX_BYTES)
		return;
	packed = malloc(section->size_bytes);
	bytes = malloc(MINI_MAX_BYTES);
	if (packed != NULL && bytes != NULL &&
		elf_source_read(&binary->source, section->offset, packed, section->size_bytes))
		source.size_bytes = unpack(packed, section->size_bytes, bytes);
	if (source.size_bytes > 0)
		files->mini_bytes = malloc(source.size_bytes);
	if (files->mini_bytes != NULL)
	{
		memcpy(files->mini_bytes, bytes, source.size_bytes);
		source.memory = files->mini_bytes;
		if (elf_file_init(&files->mini, &source) != 0)
		{
			free(files->mini_bytes);
			files->mini_bytes = NULL;
		}
	}
	free(packed);
	free(bytes);
}

void
debug_files_open(DebugFiles *files, const ElfFile *binary, const DebugPlaces *places)
{
	int root_fds[2];
	int root_count = 0;

	*files = DEBUG_FILES_NONE;
	if (places->root_pid != 0)
	{
		root_fds[root_count] = open_root(places->root_pid);
		root_count += root_fds[root_count] >= 0;
	}
	root_fds[root_count] = open_root(0);
	root_count += root_fds[root_count] >= 0;

	if (!binary->has_dwarf)
		find_debug_file(files, binary, places, root_fds, root_count);
	find_supplement(files, binary->has_dwarf ? binary : &files->debug, places, root_fds,
					root_count);
	if (files->debug.source.fd < 0 && binary->symbols[ELF_SYMTAB].count == 0)
		read_mini(files, binary);
	for (int i = 0; i < root_count; i++)
		close(root_fds[i]);
}

void
debug_files_close(DebugFiles *files)
{
	if (files->debug.source.fd >= 0)
		close(files->debug.source.fd);
	if (files->alt_fd >= 0)
		close(files->alt_fd);
	elf_file_fini(&files->debug);
	elf_file_fini(&files->mini);
	free(files->mini_bytes);
	*files = DEBUG_FILES_NONE;
}
