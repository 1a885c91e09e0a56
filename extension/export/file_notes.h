/*
 * file_notes.h
 *		What imported files said beside their samples, on its way out again.
 */
#ifndef PFS_FILE_NOTES_H
#define PFS_FILE_NOTES_H

#include "profstore.h"

#include "export/pprof_write.h"
#include "select/selection.h"

/*
 * Fills in the notes of a header with those of all series of a selection: all comments, and of
 * everything else one that is not empty. Reads as the caller. Texts live in CurrentMemoryContext.
 */
void pfs_file_notes_get(const PfsSelection *selection, PfsPprofHeader *header);

#endif
