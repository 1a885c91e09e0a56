/*
 * php_file.c
 *		Reads symbols and the version of PHP, and has the offsets of its versions.
 */
#include "runtimes/php/php_file.h"

#include <stdlib.h>
#include <string.h>

#include "files/exported_symbol.h"

#define SYMBOL_LOOP	   "execute_ex"
#define SYMBOL_STATE   "executor_globals"
/* replaces the variable in builds for several threads */
#define SYMBOL_THREADS "executor_globals_offset"

#define OBJECTS	  (1U << STT_OBJECT)
#define FUNCTIONS (1U << STT_FUNC)

/* The header of responses that PHP sends names the version, and is a constant of each build. */
#define VERSION_TEXT	"X-Powered-By: PHP/"
#define VERSION_BYTES	8 /* bytes of the version that are read after it */
#define CONSTANTS_BYTES (64U << 20)
#define CONSTANTS_READ	65536

/*
 * Offsets in bytes: of current_execute_data in the executor's globals, and of fields in a function
 * of a script (zend_op_array).
 */
typedef struct PhpOffsets
{
	uint16_t version;
	uint16_t current;
	uint16_t last;
	uint16_t opcodes;
	uint16_t file;
	uint16_t lines; /* the first line; the last one follows */
} PhpOffsets;

static const PhpOffsets versions[] = {
	{ 703, 488, 60, 64, 128, 136 },	 { 704, 488, 60, 64, 136, 144 },
	{ 800, 488, 68, 72, 144, 152 },	 { 801, 488, 68, 72, 144, 152 },
	{ 802, 488, 80, 88, 152, 160 },	 { 803, 488, 76, 80, 144, 152 },
	{ 804, 488, 96, 104, 168, 176 }, { 805, 512, 96, 104, 168, 176 },
};

bool
php_layout_of(uint32_t version, struct pfs_php_layout *layout)
{
	for (size_t i = 0; i < sizeof(versions) / sizeof(versions[0]); i++)
	{
		if (versions[i].version != version)
			continue;
		*layout = (struct pfs_php_layout){ .current = versions[i].current,
										   .function_last = (uint8_t) (versions[i].last / 4),
										   .function_opcodes = (uint8_t) (versions[i].opcodes / 8),
										   .function_file = (uint8_t) (versions[i].file / 8),
										   .function_lines = (uint8_t) (versions[i].lines / 8) };
		return true;
	}
	return false;
}

/* Returns 802 for "8.2.…"; 0 for other texts. */
static uint32_t
version_of_text(const char *text)
{
	char *end;
	unsigned long major = strtoul(text, &end, 10);
	unsigned long minor;

	if (end == text || *end != '.')
		return 0;
	minor = strtoul(end + 1, &end, 10);
	return *end == '.' && major < 100 && minor < 100 ? (uint32_t) (major * 100 + minor) : 0;
}

/* Searches the constants for the version. Returns 0 if it is not there. */
static uint32_t
php_version_find(ElfHeaders *headers)
{
	const size_t overlap = strlen(VERSION_TEXT) + VERSION_BYTES;
	char *bytes = malloc(CONSTANTS_READ + 1);
	uint32_t version = 0;
	Elf64_Shdr section;

	if (bytes != NULL && elf_headers_find_section(headers, ".rodata", &section) &&
		section.sh_size <= CONSTANTS_BYTES)
	{
		for (uint64_t at = 0; version == 0 && at < section.sh_size; at += CONSTANTS_READ - overlap)
		{
			uint64_t left = section.sh_size - at;
			size_t length = left < CONSTANTS_READ ? (size_t) left : CONSTANTS_READ;
			const char *found;

			if (!elf_source_read(&headers->source, section.sh_offset + at, bytes, length))
				break;
			bytes[length] = '\0';
			found = memmem(bytes, length, VERSION_TEXT, strlen(VERSION_TEXT));
			if (found != NULL)
				version = version_of_text(found + strlen(VERSION_TEXT));
		}
	}
	free(bytes);
	return version;
}

bool
php_file_read(const ElfSource *source, PhpFile *file)
{
	ElfHeaders headers;
	ExportedSymbol loop;
	ExportedSymbol state;

	memset(file, 0, sizeof(*file));
	if (elf_headers_read(&headers, source) != 0 ||
		!exported_symbol_find(&headers, SYMBOL_LOOP, FUNCTIONS, &loop) ||
		loop.size_bytes > UINT64_MAX - loop.address)
		return false;
	if (exported_symbol_find(&headers, SYMBOL_STATE, OBJECTS, &state))
		file->state = state.address;
	else if (exported_symbol_find(&headers, SYMBOL_THREADS, OBJECTS, &state))
		file->distance = state.address;
	else
		return false;
	file->loop = (LoopCode){ .start = loop.address, .end = loop.address + loop.size_bytes };
	file->version = php_version_find(&headers);
	if (!php_layout_of(file->version, &file->layout))
		file->version = 0;
	return true;
}
