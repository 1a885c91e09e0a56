/*
 * json.h
 *		Reads JSON in place, value by value. Includes no server header.
 *
 * A reader demands the types that it expects. If the fields of an object are needed in another
 * order, pfs_json_find() skips the object once and records the positions of the values.
 */
#ifndef PFS_JSON_H
#define PFS_JSON_H

#include "formats/profile.h"

typedef struct PfsJson
{
	const char *bytes;
	size_t length;
	size_t at;
	bool may_be_cut; /* an array may end early, as in the trace of a killed program */
	PfsProfile *profile;
	PfsReadError *error;
} PfsJson;

/* Set the error, at the current or the given position, and return the status. */
PfsReadStatus pfs_json_fail(const PfsJson *json, PfsReadStatus status, const char *message);
PfsReadStatus pfs_json_fail_at(const PfsJson *json, size_t at, PfsReadStatus status,
							   const char *message);
PfsReadStatus pfs_json_refused(const PfsJson *json); /* status of the budget */

/* Returns the first byte of the next value; '\0' at the end. */
char pfs_json_peek(PfsJson *json);

/*
 * Iterate over the elements of '[' or the fields of '{'. pfs_json_begin() moves to the first one,
 * pfs_json_next() to the one after an element that was read. They set *more to false if there is
 * none.
 */
PfsReadStatus pfs_json_begin(PfsJson *json, char open, bool *more);
PfsReadStatus pfs_json_next(PfsJson *json, char open, bool *more);

/* Reads a field's name with its colon, and a text. Both are clean. */
PfsReadStatus pfs_json_key(PfsJson *json, PfsText *key);
PfsReadStatus pfs_json_text(PfsJson *json, PfsText *text);

/* Reads a text, or the digits of a number; "" for null. */
PfsReadStatus pfs_json_word(PfsJson *json, PfsText *text);

/*
 * Reads a number and multiplies it by a scale of at most 10^9, with rounding. *is_whole is set if
 * rounding was not necessary. Returns PFS_READ_OUT_OF_RANGE beyond 64 bits.
 */
PfsReadStatus pfs_json_number(PfsJson *json, int64_t scale, int64_t *number, bool *is_whole);

/* Like pfs_json_number(), but sets no error message, so that the caller may skip a bad number. */
PfsReadStatus pfs_json_try_number(PfsJson *json, int64_t scale, int64_t *number, bool *is_whole);

/* Reads an integer from 0 to below the limit. */
PfsReadStatus pfs_json_index(PfsJson *json, uint32_t limit, uint32_t *index);

PfsReadStatus pfs_json_skip(PfsJson *json);

/* A field and the position of its value; SIZE_MAX if the object does not have the field. */
typedef struct PfsJsonField
{
	const char *name;
	size_t at;
} PfsJsonField;

/*
 * Records the positions of fields and skips the object. If a field is repeated, the last one
 * counts.
 */
PfsReadStatus pfs_json_find(PfsJson *json, PfsJsonField *fields, int count);

/* Returns true if the bytes begin like a JSON object, or an array of objects. */
bool pfs_is_json(const uint8_t *bytes, size_t length);

#endif
