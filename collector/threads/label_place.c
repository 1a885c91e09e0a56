/*
 * label_place.c
 *		Determines the version and symbols of an executable, or of profstore's library.
 */
#include "threads/label_place.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "symbols/elf/elf_file.h"

#define GO_INFO_BYTES	 32 /* length before the version: magic number and format */
#define GO_INFO_MAGIC	 "\xff Go buildinf:"
#define GO_INFO_FLAGS	 15
#define GO_INFO_INLINE	 2 /* flag: the version follows in place, preceded by its length */
#define GO_VERSION_BYTES 64

#define GO_FIELD_M			  48
#define GO_LABELS_MINOR_FIRST 18
#define GO_LABELS_MINOR_LAST  27

#define GO_TLS_BYTES 8 /* size of the thread-local block if the variable g is the only one in it */

#define CUSTOM_VERSION		  "custom_labels_abi_version"
#define CUSTOM_SET			  "custom_labels_current_set"
#define CUSTOM_VERSION_KNOWN  1
#define LIBRARY_VERSION		  "profstore_labels_version"
#define LIBRARY_SET			  "profstore_current_labels"
#define VARIABLES			  (1U << STT_TLS | 1U << STT_OBJECT)
/* arm64: distance from the thread pointer to the first thread-local variable */
#define THREAD_POINTER_HEADER 16

/* An executable that is being examined. */
typedef struct Reading
{
	ElfHeaders headers;
	ElfFile file;
	bool has_tls;
	Elf64_Phdr tls;
	struct pfs_label_place *place;
} Reading;

static uint64_t
align_up(uint64_t value, uint64_t alignment)
{
	return alignment > 1 ? (value + alignment - 1) / alignment * alignment : value;
}

/*
 * Converts the offset of a variable in the TLS segment to an offset from the thread pointer. The
 * thread pointer is beside the executable's TLS block.
 */
static bool
tls_offset(const Reading *reading, uint64_t value, int32_t *offset)
{
	const Elf64_Phdr *tls = &reading->tls;

	if (!reading->has_tls || value >= tls->p_memsz || tls->p_memsz > INT32_MAX / 4 ||
		tls->p_align > 4096)
		return false;
#ifdef __aarch64__
	*offset = (int32_t) (align_up(THREAD_POINTER_HEADER, tls->p_align) + value);
#else
	*offset = (int32_t) ((int64_t) value - (int64_t) align_up(tls->p_memsz, tls->p_align));
#endif
	return true;
}

/*
 * Returns N of "go1.N" as the linker recorded it; -1 if this is not a Go program or its version is
 * not known.
 */
static int
go_minor(Reading *reading)
{
	char bytes[GO_INFO_BYTES + 1 + GO_VERSION_BYTES];
	Elf64_Shdr section;
	size_t length;
	char *end;
	long minor;

	if (!elf_headers_find_section(&reading->headers, ".go.buildinfo", &section) ||
		section.sh_type != SHT_PROGBITS || section.sh_size < GO_INFO_BYTES + 1)
		return -1;
	length = section.sh_size < sizeof(bytes) - 1 ? (size_t) section.sh_size : sizeof(bytes) - 1;
	if (!elf_source_read(&reading->headers.source, section.sh_offset, bytes, length) ||
		memcmp(bytes, GO_INFO_MAGIC, strlen(GO_INFO_MAGIC)) != 0 ||
		!(bytes[GO_INFO_FLAGS] & GO_INFO_INLINE))
		return -1;
	bytes[length] = '\0';
	if (strncmp(bytes + GO_INFO_BYTES + 1, "go1.", 4) != 0)
		return -1;
	minor = strtol(bytes + GO_INFO_BYTES + 5, &end, 10);
	return end > bytes + GO_INFO_BYTES + 5 && minor >= GO_LABELS_MINOR_FIRST &&
				   minor <= GO_LABELS_MINOR_LAST
			   ? (int) minor
			   : -1;
}

static uint16_t
go_labels_field(int minor)
{
	if (minor <= 20)
		return 360;
	if (minor <= 22 || minor == 25)
		return 344;
	return 352;
}

/*
 * Finds g: in programs linked by Go's own linker it is the only thread-local variable; otherwise it
 * has the symbol runtime.tlsg.
 */
static bool
go_tls_offset(const Reading *reading, int32_t *offset)
{
#ifndef __aarch64__ /* on arm64 a register holds g */
	ElfSymbol symbol;

	if (reading->has_tls && reading->tls.p_memsz != GO_TLS_BYTES)
		return elf_file_find_symbol(&reading->file, ELF_SYMTAB, "runtime.tlsg", 1U << STT_TLS,
									&symbol) &&
			   tls_offset(reading, symbol.address, offset);
#else
	(void) reading;
#endif
	*offset = -GO_TLS_BYTES;
	return true;
}

static bool
find_go(Reading *reading)
{
	int minor = go_minor(reading);
	int32_t offset;

	if (minor < 0 || !go_tls_offset(reading, &offset))
		return false;
	*reading->place =
		(struct pfs_label_place){ .tls_offset = offset,
								  .m = GO_FIELD_M,
								  .curg = minor >= 25 ? 184 : 192,
								  .labels = go_labels_field(minor),
								  .kind = minor >= 24 ? PFS_LABELS_GO : PFS_LABELS_GO_MAP };
	return true;
}

/* Finds the variable that leads to the set, of a known version of the layout. */
static bool
place_find_set(Reading *reading, const char *version_name, const char *name, uint32_t types,
			   ElfSymbol *set)
{
	const ElfFile *file = &reading->file;
	ElfSymbol version;
	uint32_t number;

	return elf_file_find_symbol(file, ELF_DYNSYM, version_name, VARIABLES, &version) &&
		   elf_file_find_symbol(file, ELF_DYNSYM, name, types, set) &&
		   elf_headers_read_at(&reading->headers, version.address, &number, sizeof(number)) &&
		   number == CUSTOM_VERSION_KNOWN;
}

static void
find_custom(Reading *reading)
{
	ElfSymbol set;
	int32_t offset;

	if (reading->has_tls &&
		place_find_set(reading, CUSTOM_VERSION, CUSTOM_SET, 1U << STT_TLS, &set) &&
		tls_offset(reading, set.address, &offset))
		*reading->place =
			(struct pfs_label_place){ .tls_offset = offset, .kind = PFS_LABELS_CUSTOM };
}

static void
find_library(Reading *reading)
{
	ElfSymbol set;

	if (place_find_set(reading, LIBRARY_VERSION, LIBRARY_SET, 1U << STT_OBJECT, &set))
		*reading->place =
			(struct pfs_label_place){ .variable = set.address, .kind = PFS_LABELS_LIBRARY };
}

/* Returns true for the path of profstore's own library. Symbols of others are not looked at. */
static bool
label_place_is_library(const char *path)
{
	const char *name = strrchr(path, '/');

	return strcmp(name == NULL ? path : name + 1, "profstore.so") == 0;
}

/* Finds the TLS segment. Returns true if the file is an executable program. */
static bool
label_place_read_segments(Reading *reading)
{
	bool is_program = false;
	uint16_t type;

	if (elf_source_read(&reading->headers.source, offsetof(Elf64_Ehdr, e_type), &type,
						sizeof(type)))
		is_program = type == ET_EXEC;
	for (uint32_t i = 0; i < reading->headers.segment_count; i++)
	{
		Elf64_Phdr segment;

		if (!elf_headers_segment(&reading->headers, i, &segment))
			continue;
		is_program |= segment.p_type == PT_INTERP;
		if (segment.p_type == PT_TLS)
		{
			reading->tls = segment;
			reading->has_tls = true;
		}
	}
	return is_program;
}

void
label_place_read(const ElfSource *source, const char *path, struct pfs_label_place *place)
{
	Reading reading = { .place = place };
	bool is_program;

	memset(place, 0, sizeof(*place));
	if (elf_headers_read(&reading.headers, source) != 0 || !reading.headers.is_64_bit)
		return;
	is_program = label_place_read_segments(&reading);
	if (!is_program && !label_place_is_library(path))
		return;
	if (elf_file_init(&reading.file, source) != 0)
		memset(place, 0, sizeof(*place));
	else if (!is_program)
		find_library(&reading);
	else if (!find_go(&reading))
		find_custom(&reading);
	elf_file_fini(&reading.file);
}
