/*
 * profile_text.h
 *		Converts texts of a profile to the server's encoding.
 */
#ifndef PFS_PROFILE_TEXT_H
#define PFS_PROFILE_TEXT_H

#include "profstore.h"

#include "import/import_request.h"

/*
 * Returns a text of the profile, terminated, in CurrentMemoryContext. Raises
 * CHARACTER_NOT_IN_REPERTOIRE, with the place in the file, for a character that the server's
 * encoding lacks.
 */
char *pfs_import_text(const PfsImport *import, PfsText text);

/* Like pfs_import_text(), but returns a text datum. */
Datum pfs_import_text_datum(const PfsImport *import, PfsText text);

#endif
