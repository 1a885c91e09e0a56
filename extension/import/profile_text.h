/*
 * profile_text.h
 *		Texts of a profile in the server's encoding.
 */
#ifndef PFS_PROFILE_TEXT_H
#define PFS_PROFILE_TEXT_H

#include "profstore.h"

#include "import/import_request.h"

/*
 * A text of the profile, terminated, in CurrentMemoryContext. Raises CHARACTER_NOT_IN_REPERTOIRE,
 * with the place in the file, for what the server's encoding lacks.
 */
char *pfs_import_text(const PfsImport *import, PfsText text);

/* The same as a text datum. */
Datum pfs_import_text_datum(const PfsImport *import, PfsText text);

#endif
