/*
 * symbol_table_file.c
 *		Writes and reads symbol tables.
 */
#include "symbols/elf/symbol_table_file.h"

#include <elf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <lzma.h>

#include "base/cache_directory.h"
#include "base/hash.h"
#include "symbols/elf/symbol_table_parts.h"

#define MAGIC	   "PFSSYMBL"
#define CRC_END	   12							/* the checksum covers what comes after it */
#define SOURCE_MAX (UINT64_C(64) * 1024 * 1024) /* bytes of symbols and names */

typedef struct FileHeader
{
	char magic[8];
	uint32_t crc;
	uint32_t version;
	uint64_t seed;
	uint64_t check;
	uint64_t base;
	uint32_t count;
	uint32_t unused;
} FileHeader;

_Static_assert(sizeof(FileHeader) == 48, "the header has no hidden padding");
_Static_assert(sizeof(SymbolEntry) == 8, "entries have no hidden padding");

/* A hash in progress, and the number of bytes that it may still read. */
typedef struct SourceHash
{
	uint64_t hash;
	uint64_t left;
} SourceHash;

/* Hashes a part of a file. Returns false if it cannot be read or exceeds the remaining bytes. */
static bool
hash_extent(SourceHash *sources, const ElfSource *source, uint64_t offset, uint64_t size_bytes)
{
	uint8_t block[16384];

	if (size_bytes > sources->left)
		return false;
	sources->left -= size_bytes;
	sources->hash = hash_word(sources->hash, size_bytes);
	while (size_bytes > 0)
	{
		size_t step = size_bytes < sizeof(block) ? (size_t) size_bytes : sizeof(block);

		if (!elf_source_read(source, offset, block, step))
			return false;
		sources->hash = hash_bytes(sources->hash, block, step);
		offset += step;
		size_bytes -= step;
	}
	return true;
}

static bool
hash_symbols(SourceHash *sources, const ElfFile *file, ElfSymbolsKind kind)
{
	const ElfSymbols *symbols = &file->symbols[kind];
	uint64_t entry_bytes = file->is_64_bit ? sizeof(Elf64_Sym) : sizeof(Elf32_Sym);

	if (symbols->count == 0)
	{
		sources->hash = hash_word(sources->hash, 0);
		return true;
	}
	return hash_extent(sources, &file->source, symbols->offset, symbols->count * entry_bytes) &&
		   hash_extent(sources, &file->source, symbols->strings.offset,
					   symbols->strings.size_bytes);
}

/* Hashes all sources of a table. Returns false if they cannot be read or are too large. */
static bool
hash_sources(uint64_t seed, const ElfFile *const *files, uint32_t file_count, uint64_t *hash)
{
	SourceHash sources = { .hash = seed, .left = SOURCE_MAX };
	bool with_dynsym = symbol_table_needs_dynsym(files, file_count);

	for (uint32_t i = 0; i < file_count; i++)
	{
		const ElfFile *file = files[i];

		sources.hash = hash_word(sources.hash, file->is_64_bit);
		sources.hash = hash_word(sources.hash, file->section_count);
		for (uint32_t j = 0; j < file->section_count; j++)
		{
			sources.hash = hash_word(sources.hash, file->sections[j].range.address);
			sources.hash = hash_word(sources.hash, file->sections[j].range.size_bytes);
		}
		if (!hash_symbols(&sources, file, ELF_SYMTAB) ||
			(i == 0 && with_dynsym && !hash_symbols(&sources, file, ELF_DYNSYM)))
			return false;
	}
	*hash = hash_word(sources.hash, with_dynsym);
	return true;
}

static uint32_t
table_checksum(const FileHeader *header, const SymbolEntry *entries)
{
	uint32_t crc = lzma_crc32((const uint8_t *) header + CRC_END, sizeof(*header) - CRC_END, 0);

	return lzma_crc32((const uint8_t *) entries, header->count * sizeof(*entries), crc);
}

int
symbol_table_write(const SymbolTable *table, const ElfFile *const *files, uint32_t file_count,
				   int fd)
{
	FileHeader header = {
		.version = SYMBOL_TABLE_VERSION,
		.seed = hash_seed(),
		.base = table->base,
		.count = table->count,
	};
	int err;

	if (table->count > (SYMBOL_TABLE_FILE_MAX - sizeof(header)) / sizeof(SymbolEntry) ||
		!hash_sources(header.seed, files, file_count, &header.check))
		return -EFBIG;
	memcpy(header.magic, MAGIC, sizeof(header.magic));
	header.crc = table_checksum(&header, table->entries);
	err = cache_file_write(fd, &header, sizeof(header));
	return err != 0 ? err
					: cache_file_write(fd, table->entries, table->count * sizeof(SymbolEntry));
}

/* Checks that entries ascend and that each one refers to an existing symbol. */
static bool
entries_are_valid(const SymbolTable *table, const ElfFile *const *files, uint32_t file_count)
{
	for (uint32_t i = 0; i < table->count; i++)
	{
		uint32_t place = table->entries[i].place;

		if (place_file_index(place) >= file_count ||
			(place & PLACE_INDEX_MAX) >=
				files[place_file_index(place)]->symbols[place_kind(place)].count ||
			(i > 0 && table->entries[i].start <= table->entries[i - 1].start))
			return false;
	}
	return true;
}

int
symbol_table_read(const ElfFile *const *files, uint32_t file_count, int fd, SymbolTable **table)
{
	FileHeader header;
	struct stat status;
	SymbolTable *made;
	uint64_t check;
	size_t entries_bytes;

	if (fstat(fd, &status) != 0 || status.st_size > (off_t) SYMBOL_TABLE_FILE_MAX ||
		cache_file_read(fd, 0, &header, sizeof(header)) != 0 ||
		memcmp(header.magic, MAGIC, sizeof(header.magic)) != 0)
		return -EBADMSG;
	if (header.version != SYMBOL_TABLE_VERSION)
		return -ESTALE;
	entries_bytes = (size_t) header.count * sizeof(SymbolEntry);
	if ((uint64_t) status.st_size != sizeof(header) + entries_bytes)
		return -EBADMSG;
	made = malloc(sizeof(*made) + entries_bytes);
	if (made == NULL)
		return -ENOMEM;
	made->base = header.base;
	made->count = header.count;
	if (cache_file_read(fd, sizeof(header), made->entries, entries_bytes) != 0 ||
		table_checksum(&header, made->entries) != header.crc)
	{
		free(made);
		return -EBADMSG;
	}
	if (!hash_sources(header.seed, files, file_count, &check) || check != header.check ||
		!entries_are_valid(made, files, file_count))
	{
		free(made);
		return -ESTALE;
	}
	*table = made;
	return 0;
}
