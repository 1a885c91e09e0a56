/*
 * file_notes.h
 *		Notes of imported files (comments and other fields beside samples), for export.
 */
#ifndef PFS_FILE_NOTES_H
#define PFS_FILE_NOTES_H

#include "profstore.h"

#include "export/pprof_write.h"
#include "select/selection.h"

/*
 * Fills in a header with the notes of all series of a selection: all comments, and of every other
 * field one non-empty value. Reads as the caller. Texts live in CurrentMemoryContext.
 */
void pfs_file_notes_get(const PfsSelection *selection, PfsPprofHeader *header);

#endif
