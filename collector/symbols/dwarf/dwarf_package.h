/*
 * dwarf_package.h
 *		Finds split units: in a package (.dwp) by its index, or in a file of one unit (.dwo).
 */
#ifndef COLLECTOR_DWARF_PACKAGE_H
#define COLLECTOR_DWARF_PACKAGE_H

#include "symbols/dwarf/dwarf_unit.h"

/* A mapped file of split units. */
typedef struct DwarfPackage
{
	void *bytes; /* NULL: no file is open */
	size_t size_bytes;
	Elf *elf;
	DwarfFile file;
} DwarfPackage;

/*
 * Maps a file; the caller keeps the descriptor. Subtracts from *room_bytes the memory that
 * unpacking its compressed sections takes. Returns 0; -ENODATA if it has no split units; -EFBIG if
 * there is no room; -ENOMEM.
 */
int dwarf_package_open(DwarfPackage *package, int fd, uint64_t *room_bytes);
void dwarf_package_close(DwarfPackage *package);	 /* accepts a zeroed one */
void dwarf_package_give_back(DwarfPackage *package); /* releases its pages */

/*
 * Finds the split unit of a skeleton. Sets *part to those parts of the package's sections that
 * belong to the unit; dwarf_file_fini() frees it, and the package must stay open. Returns the unit,
 * which is inside *part; NULL if there is none or memory is exhausted.
 */
DwarfUnit *dwarf_package_find(const DwarfPackage *package, const DwarfUnit *skeleton,
							  DwarfFile *part);

#endif
