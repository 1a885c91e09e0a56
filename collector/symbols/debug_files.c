/*
 * debug_files.c
 *		Finds separate debug files.
 *
 * A container's file system belongs to whoever runs in it: paths are resolved inside of its root,
 * so that a link cannot lead to the host's files, and only regular files are read.
 */
#include "symbols/debug_files.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "files/open_file.h"

/* What tells that a file is the right one. */
typedef struct Proof
{
	const uint8_t *build_id;
	uint32_t build_id_bytes; /* 0: checksum only */
	bool has_checksum;
	uint32_t checksum;
} Proof;

static bool
is_proven(const ElfFile *file, const Proof *proof, const DebugPlaces *places)
{
	if (proof->build_id_bytes > 0 && file->build_id.size_bytes > 0)
		return file->build_id.size_bytes == proof->build_id_bytes &&
			   memcmp(file->build_id.bytes, proof->build_id, proof->build_id_bytes) == 0;
	return proof->has_checksum &&
		   places->has_checksum(places->context, file->source.fd, proof->checksum);
}

/*
 * Opens the file at a path if it is the right one; file is as debug_files_close expects it either
 * way.
 */
static bool
try_path(ElfFile *file, int root_fd, const char *path, const DebugPlaces *places,
		 const Proof *proof)
{
	struct stat status;
	ElfSource source = { .fd = open_file_inside(root_fd, path, &status) };

	if (source.fd < 0)
		return false;
	source.size_bytes = (uint64_t) status.st_size;
	if (elf_file_init(file, &source) == 0)
	{
		if (is_proven(file, proof, places))
			return true;
		elf_file_fini(file);
	}
	file->source.fd = -1;
	close(source.fd);
	return false;
}

/* DIR/.build-id/xx/yyyy.debug */
static bool
try_build_id(ElfFile *file, int root_fd, const DebugPlaces *places, const Proof *proof)
{
	char digits[2 * ELF_BUILD_ID_MAX_BYTES + 1] = "";
	char path[PATH_MAX];

	if (proof->build_id_bytes < 2 || places->directory[0] == '\0')
		return false;
	for (uint32_t i = 0; i < proof->build_id_bytes; i++)
		snprintf(digits + 2 * i, 3, "%02x", proof->build_id[i]);
	snprintf(path, sizeof(path), "%s/.build-id/%.2s/%s.debug", places->directory, digits,
			 digits + 2);
	return try_path(file, root_fd, path, places, proof);
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
	if (strcmp(path, places->name) != 0 && try_path(file, root_fd, path, places, proof))
		return true;
	snprintf(path, sizeof(path), "%.*s/.debug/%s", length, places->name, link);
	if (try_path(file, root_fd, path, places, proof))
		return true;
	if (places->directory[0] == '\0')
		return false;
	snprintf(path, sizeof(path), "%s%.*s/%s", places->directory, length, places->name, link);
	return try_path(file, root_fd, path, places, proof);
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
		if (try_build_id(&files->debug, root_fds[i], places, &proof))
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
		if (!try_build_id(&file, root_fds[i], places, &proof) &&
			(path[0] != '/' || !try_path(&file, root_fds[i], path, places, &proof)))
			continue;
		files->alt_fd = file.source.fd;
		elf_file_fini(&file);
	}
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
	*files = DEBUG_FILES_NONE;
}
