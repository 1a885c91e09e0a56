/*
 * json.h
 *		JSON, read value by value where it lies. Knows no server header.
 *
 * A reader asks for what it expects. Objects whose fields are needed in an order of the reader's
 * own are gone over once for the places of their values (pfs_json_find).
 */
#ifndef PFS_JSON_H
#define PFS_JSON_H

#include "formats/profile.h"

typedef struct PfsJson
{
	const char *bytes;
	size_t length;
	size_t at;
	bool may_be_cut; /* an array may lack its end, as traces of programs that were killed do */
	PfsProfile *profile;
	PfsReadError *error;
} PfsJson;

/* Set the error at the place that was reached, or the one given, and return the status. */
PfsReadStatus pfs_json_fail(const PfsJson *json, PfsReadStatus status, const char *message);
PfsReadStatus pfs_json_fail_at(const PfsJson *json, size_t at, PfsReadStatus status,
							   const char *message);
PfsReadStatus pfs_json_refused(const PfsJson *json); /* of memory */

/* The first byte of the value that is next; '\0' at the end. */
char pfs_json_peek(PfsJson *json);

/*
 * The elements of '[' or the fields of '{' one by one: begin goes to the first, next behind one
 * that was read. *more: there is one.
 */
PfsReadStatus pfs_json_begin(PfsJson *json, char open, bool *more);
PfsReadStatus pfs_json_next(PfsJson *json, char open, bool *more);

/* The name of a field, up to its value; a text. They are clean. */
PfsReadStatus pfs_json_key(PfsJson *json, PfsText *key);
PfsReadStatus pfs_json_text(PfsJson *json, PfsText *text);

/* A text as it is, or the digits of a number; "" for null. */
PfsReadStatus pfs_json_word(PfsJson *json, PfsText *text);

/*
 * A number times a scale of at most 10^9, rounded; *is_whole: it need not be. PFS_READ_OUT_OF_RANGE
 * beyond 64 bits.
 */
PfsReadStatus pfs_json_number(PfsJson *json, int64_t scale, int64_t *number, bool *is_whole);

/* Like pfs_json_number(), without an error message: a bad number may be skipped. */
PfsReadStatus pfs_json_try_number(PfsJson *json, int64_t scale, int64_t *number, bool *is_whole);

/* A whole number from 0 on, below a limit. */
PfsReadStatus pfs_json_index(PfsJson *json, uint32_t limit, uint32_t *index);

PfsReadStatus pfs_json_skip(PfsJson *json);

/* Where the value of a field of an object is; SIZE_MAX: it has none of that name. */
typedef struct PfsJsonField
{
	const char *name;
	size_t at;
} PfsJsonField;

/* Goes over an object. A field that comes twice is the last one. */
PfsReadStatus pfs_json_find(PfsJson *json, PfsJsonField *fields, int count);

/* Whether bytes begin as JSON of an object, or of an array of objects. */
bool pfs_is_json(const uint8_t *bytes, size_t length);

#endif
