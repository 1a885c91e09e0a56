/*
 * sample_labels.h
 *		Labels of samples in files, and labels of series: one to the other and back.
 *
 * A series has texts under names of [A-Za-z_][A-Za-z0-9_]*. In files a key is any text, may come
 * twice, and values may be numbers with units. So a key's other characters become "_", the second
 * value of a key goes to key_2, a key that the importer's own labels have to exported_key, and a
 * number becomes its digits. The label PFS_LABEL_KINDS tells what of this was done, as JSON:
 * {"name": {"key": "what it was", "unit": "bytes"}}, where unit says that it was a number. It is
 * there only where something was done.
 */
#ifndef PFS_SAMPLE_LABELS_H
#define PFS_SAMPLE_LABELS_H

#include "profstore.h"

#include "utils/jsonb.h"

#include "formats/profile.h"

#define PFS_LABEL_KINDS "__pprof__"

/* A label in the server's encoding. */
typedef struct PfsSampleLabel
{
	const char *key;
	const char *text; /* of a number: its unit, "" for none */
	int64 number;
	bool numeric;
} PfsSampleLabel;

/* base without its label PFS_NAME_LABEL, and the labels of a sample. */
#define PFS_NAME_LABEL "__name__"
Jsonb *pfs_series_labels(Jsonb *base, const PfsSampleLabel *labels, uint32 count);

/* What a series' labels were in a file, in the order of their names; returns the number. */
uint32 pfs_labels_of_series(Jsonb *series_labels, PfsSampleLabel **labels);

/* Value of a label that is a text, NULL where there is none. */
char *pfs_label_value(Jsonb *labels, const char *name);

#endif
