/*
 * hotspot_file.h
 *		Recognizes HotSpot, the Java virtual machine of OpenJDK, and finds its exports for
 *		debuggers.
 *
 * HotSpot has tables of its structures' fields and sizes ("VMStructs"). The file has only their
 * addresses; their contents are read from a process.
 */
#ifndef COLLECTOR_HOTSPOT_FILE_H
#define COLLECTOR_HOTSPOT_FILE_H

#include <stdbool.h>
#include <stdint.h>

#include "files/elf_headers.h"

typedef enum HotSpotExport
{
	HOTSPOT_STRUCTS, /* variable with the address of the table of fields */
	HOTSPOT_STRUCT_STRIDE,
	HOTSPOT_STRUCT_TYPE, /* variables with the offsets in an entry: this to ADDRESS */
	HOTSPOT_STRUCT_FIELD,
	HOTSPOT_STRUCT_IS_STATIC,
	HOTSPOT_STRUCT_OFFSET,
	HOTSPOT_STRUCT_ADDRESS,
	HOTSPOT_TYPES, /* variables with the offsets in an entry of the table of types and sizes */
	HOTSPOT_TYPE_STRIDE,
	HOTSPOT_TYPE_NAME,
	HOTSPOT_TYPE_SIZE,
	HOTSPOT_EXPORTS
} HotSpotExport;

typedef struct HotSpotFile
{
	uint64_t exports[HOTSPOT_EXPORTS]; /* ELF virtual addresses */
	/* all of exports are present, and the architecture is supported */
	bool is_known;
} HotSpotFile;

/*
 * Returns false if the file is not HotSpot. name: its file name, with or without the directory; it
 * must be "libjvm.so".
 */
bool hotspot_file_read(const ElfSource *source, const char *name, HotSpotFile *file);

#endif
