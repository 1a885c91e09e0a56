/*
 * sample_labels.h
 *		Labels of series in jsonb, and their original form in files: the inverse of
 *		formats/series_labels.h.
 */
#ifndef PFS_SAMPLE_LABELS_H
#define PFS_SAMPLE_LABELS_H

#include "profstore.h"

#include "utils/jsonb.h"

#include "import/import_request.h"

/* A label in the server's encoding. */
typedef struct PfsSampleLabel
{
	const char *key;
	const char *text; /* the label's text; if the label is a number, its unit, or "" */
	int64 number;
	bool numeric;
} PfsSampleLabel;

/*
 * Returns the names of the importer's labels, except PFS_NAME_LABEL. A value that is not a text is
 * returned as empty.
 */
PfsLabels pfs_labels_own(Jsonb *labels);

/*
 * Joins the importer's labels, except PFS_NAME_LABEL, with those of a sample, whose texts are the
 * profile's.
 */
Jsonb *pfs_series_labels(const PfsImport *import, const PfsLabels *of_sample);

/* Returns the labels of a series as they were in a file, sorted by name, and their number. */
uint32 pfs_labels_of_series(Jsonb *series_labels, PfsSampleLabel **labels);

/* Returns the value of a label if it is a text; otherwise NULL. */
char *pfs_label_value(Jsonb *labels, const char *name);

#endif
