/*
 * dwarf_package.h
 *		Split units: of a package (.dwp), whose index finds them, or of a file of one unit (.dwo).
 */
#ifndef COLLECTOR_DWARF_PACKAGE_H
#define COLLECTOR_DWARF_PACKAGE_H

#include "symbols/dwarf/dwarf_unit.h"

/* A file of split units, mapped. */
typedef struct DwarfPackage
{
	void *bytes; /* NULL: none is open */
	size_t size_bytes;
	Elf *elf;
	DwarfFile file;
} DwarfPackage;

/*
 * Maps a file; the descriptor stays the caller's. Subtracts from *room_bytes the memory that its
 * compressed sections take. Returns 0; -ENODATA if it has no split units; -EFBIG if there is no
 * room; -ENOMEM.
 */
int dwarf_package_open(DwarfPackage *package, int fd, uint64_t *room_bytes);
void dwarf_package_close(DwarfPackage *package);	 /* accepts a zeroed one */
void dwarf_package_give_back(DwarfPackage *package); /* releases its pages */

/*
 * Finds the split unit of a skeleton. Sets *part to the parts of the package's sections that belong
 * to it, with this one unit of code; dwarf_file_fini() frees them, and the package must stay open.
 * Returns the unit, which lies in *part; NULL if there is none or memory is exhausted.
 */
DwarfUnit *dwarf_package_find(const DwarfPackage *package, const DwarfUnit *skeleton,
							  DwarfFile *part);

#endif
