/*
 * exported_symbol.c
 *		Looks a name up in .gnu.hash.
 *
 * The section consists of a head, a Bloom filter, the buckets, and a hash for each symbol in the
 * order of the buckets. The lowest bit of a hash is set if it is the last of its bucket.
 */
#include "files/exported_symbol.h"

#include <string.h>

#define CHAIN_MAX  4096 /* limit of the symbols of a bucket that are examined */
#define CHAIN_STEP 64

typedef struct HashTable
{
	ElfSource source;
	Elf64_Shdr hashes;
	Elf64_Shdr symbols;
	ElfExtent strings;
	uint32_t bucket_count;
	uint32_t first_symbol;
	uint32_t filter_words;
	uint32_t filter_shift;
} HashTable;

static uint32_t
hash_of(const char *name)
{
	uint32_t hash = 5381;

	for (; *name != '\0'; name++)
		hash = hash * 33 + (uint8_t) *name;
	return hash;
}

/* Reads bytes at an offset of .gnu.hash. */
static bool
read_hashes(const HashTable *table, uint64_t offset, void *bytes, size_t size_bytes)
{
	return offset <= table->hashes.sh_size && size_bytes <= table->hashes.sh_size - offset &&
		   elf_source_read(&table->source, table->hashes.sh_offset + offset, bytes, size_bytes);
}

static bool
read_table(ElfHeaders *headers, HashTable *table)
{
	uint32_t head[4];
	Elf64_Shdr strings;

	*table = (HashTable){ .source = headers->source };
	if (!headers->is_64_bit || !elf_headers_find_section(headers, ".gnu.hash", &table->hashes) ||
		!elf_headers_find_section(headers, ".dynsym", &table->symbols) ||
		!elf_headers_section(headers, table->symbols.sh_link, &strings) ||
		!read_hashes(table, 0, head, sizeof(head)))
		return false;
	table->strings = (ElfExtent){ strings.sh_offset, strings.sh_size };
	table->bucket_count = head[0];
	table->first_symbol = head[1];
	table->filter_words = head[2];
	table->filter_shift = head[3];
	return table->bucket_count > 0 && table->filter_words > 0 && table->filter_shift < 32;
}

static bool
passes_filter(const HashTable *table, uint32_t hash)
{
	uint64_t word;

	return read_hashes(table, 16 + 8 * (uint64_t) (hash / 64 % table->filter_words), &word,
					   sizeof(word)) &&
		   (word >> hash % 64 & word >> (hash >> table->filter_shift) % 64 & 1) != 0;
}

/*
 * Reads the symbol with this index. Returns true if it is defined, has one of the types, and has
 * the name.
 */
static bool
read_named(const HashTable *table, uint32_t index, const char *name, uint32_t types,
		   ExportedSymbol *found)
{
	uint64_t offset = (uint64_t) index * sizeof(Elf64_Sym);
	char text[ELF_NAME_BYTES];
	Elf64_Sym symbol;

	if (offset > table->symbols.sh_size || sizeof(symbol) > table->symbols.sh_size - offset ||
		!elf_source_read(&table->source, table->symbols.sh_offset + offset, &symbol,
						 sizeof(symbol)) ||
		symbol.st_shndx == SHN_UNDEF || (types >> ELF64_ST_TYPE(symbol.st_info) & 1) == 0 ||
		!elf_source_string(&table->source, &table->strings, symbol.st_name, text, sizeof(text)) ||
		strcmp(text, name) != 0)
		return false;
	*found = (ExportedSymbol){ symbol.st_value, symbol.st_size };
	return true;
}

/*
 * Reads the hashes of symbols, beginning with the given one. Returns their number, at most
 * CHAIN_STEP.
 */
static uint32_t
read_chain(const HashTable *table, uint64_t symbol, uint32_t hashes[CHAIN_STEP])
{
	uint64_t at = 16 + 8 * (uint64_t) table->filter_words + 4 * (uint64_t) table->bucket_count +
				  4 * (symbol - table->first_symbol);
	uint64_t count = at < table->hashes.sh_size ? (table->hashes.sh_size - at) / 4 : 0;

	if (count > CHAIN_STEP)
		count = CHAIN_STEP;
	return read_hashes(table, at, hashes, count * sizeof(*hashes)) ? (uint32_t) count : 0;
}

bool
exported_symbol_find(ElfHeaders *headers, const char *name, uint32_t types, ExportedSymbol *found)
{
	uint32_t hash = hash_of(name);
	uint32_t hashes[CHAIN_STEP];
	uint32_t count = 0;
	HashTable table;
	uint32_t first;

	if (!read_table(headers, &table) || !passes_filter(&table, hash) ||
		!read_hashes(&table,
					 16 + 8 * (uint64_t) table.filter_words +
						 4 * (uint64_t) (hash % table.bucket_count),
					 &first, sizeof(first)) ||
		first < table.first_symbol)
		return false;
	for (uint32_t i = 0; i < CHAIN_MAX; i++)
	{
		uint32_t at = i % CHAIN_STEP;

		if (at == 0)
			count = read_chain(&table, (uint64_t) first + i, hashes);
		if (at >= count)
			return false;
		if ((hashes[at] | 1) == (hash | 1) && read_named(&table, first + i, name, types, found))
			return true;
		if ((hashes[at] & 1) != 0)
			return false;
	}
	return false;
}
