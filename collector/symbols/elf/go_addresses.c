/*
 * go_addresses.c
 *		Keeps the relocations of one section, sorted, since Go's linker does not sort them.
 */
#include "symbols/elf/go_addresses.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"

#define RELOCATIONS_MAX (UINT64_C(1) << 21) /* limit of those that are read of a file */
#define CHUNK			1024

static int
go_addresses_compare(const void *a, const void *b)
{
	const GoRelocation *left = a;
	const GoRelocation *right = b;

	return (left->place > right->place) - (left->place < right->place);
}

static int
go_addresses_add(GoAddresses *addresses, size_t *room, const GoRelocation *relocation)
{
	if (grow_array(&addresses->relocations, room, addresses->count, sizeof(*relocation)) != 0)
		return -ENOMEM;
	addresses->relocations[addresses->count++] = *relocation;
	return 0;
}

/* Adds those of a section's relocations that are in the table; reads at most *left. */
static int
read_relocations(GoAddresses *addresses, size_t *room, const ElfSource *source,
				 const Elf64_Shdr *relocations, const Elf64_Shdr *table, uint64_t *left)
{
	Elf64_Rela entries[CHUNK];
	uint64_t count = relocations->sh_size / sizeof(entries[0]);
	int err = 0;

	for (uint64_t at = 0; err == 0 && *left > 0 && at < count;)
	{
		uint64_t step = count - at < CHUNK ? count - at : CHUNK;

		step = step < *left ? step : *left;
		if (!elf_source_read(source, relocations->sh_offset + at * sizeof(entries[0]), entries,
							 (size_t) step * sizeof(entries[0])))
			return 0;
		for (uint64_t i = 0; err == 0 && i < step; i++)
			if (entries[i].r_offset - table->sh_addr < table->sh_size)
				err = go_addresses_add(addresses, room,
									   &(GoRelocation){ entries[i].r_offset - table->sh_addr,
														(uint64_t) entries[i].r_addend });
		at += step;
		*left -= step;
	}
	return err;
}

int
go_addresses_read(GoAddresses *addresses, const ElfSource *source, const Elf64_Shdr *section)
{
	uint64_t left = RELOCATIONS_MAX;
	ElfHeaders headers;
	size_t room = 0;
	int err = 0;

	*addresses = (GoAddresses){ NULL, 0 };
	if (elf_headers_read(&headers, source) != 0 || !headers.is_64_bit)
		return 0;
	for (uint32_t i = 0; err == 0 && i < headers.section_count; i++)
	{
		Elf64_Shdr relocations;

		if (elf_headers_section(&headers, i, &relocations) && relocations.sh_type == SHT_RELA)
			err = read_relocations(addresses, &room, source, &relocations, section, &left);
	}
	if (err != 0)
		go_addresses_fini(addresses);
	else if (addresses->count > 0)
		qsort(addresses->relocations, addresses->count, sizeof(addresses->relocations[0]),
			  go_addresses_compare);
	return err;
}

void
go_addresses_fini(GoAddresses *addresses)
{
	free(addresses->relocations);
	*addresses = (GoAddresses){ NULL, 0 };
}

void
go_addresses_apply(const GoAddresses *addresses, uint64_t offset, void *bytes, size_t length)
{
	size_t low = 0;
	size_t high = addresses->count;

	while (low < high)
	{
		size_t middle = low + (high - low) / 2;

		if (addresses->relocations[middle].place < offset)
			low = middle + 1;
		else
			high = middle;
	}
	for (size_t i = low; i < addresses->count; i++)
	{
		const GoRelocation *relocation = &addresses->relocations[i];
		uint64_t at = relocation->place - offset;

		if (at >= length || length - at < sizeof(relocation->address))
			break;
		memcpy((uint8_t *) bytes + at, &relocation->address, sizeof(relocation->address));
	}
}
