/*
 * jfr_types.h
 *		Reads a chunk's metadata: classes of records and their fields. Includes no server header.
 */
#ifndef PFS_JFR_TYPES_H
#define PFS_JFR_TYPES_H

#include "formats/id_index.h"
#include "formats/jfr/jfr_bytes.h"

/* Encoding of a value of a class. */
typedef enum PfsJfrForm
{
	PFS_JFR_FIELDS, /* the fields in order */
	PFS_JFR_NUMBER,
	PFS_JFR_BYTE,
	PFS_JFR_4_BYTES,
	PFS_JFR_8_BYTES,
	PFS_JFR_TEXT
} PfsJfrForm;

typedef struct PfsJfrField
{
	PfsText name;
	uint64_t class_id;
	uint32_t class_index; /* or PFS_NONE */
	bool in_pool;		  /* the value is in the class's pool, and the field contains its key */
	bool is_array;
} PfsJfrField;

typedef struct PfsJfrClass
{
	PfsText name;
	PfsJfrForm form;
	uint32_t first_field;
	uint32_t field_count;
} PfsJfrClass;

typedef struct PfsJfrTypes
{
	PfsJfrClass *classes;
	uint32_t class_count;
	PfsJfrField *fields;
	uint32_t field_count;
	PfsIdIndex ids; /* indexes of classes */
	PfsText *strings;
	uint32_t string_count;
} PfsJfrTypes;

/* Reads the metadata at the current position of the chunk. */
PfsReadStatus pfs_jfr_types_read(PfsJfrBytes *in, PfsJfrTypes *types);
void pfs_jfr_types_free(PfsJfrTypes *types, PfsBudget *budget);

/* Returns the class of that name, PFS_NONE if there is none. */
uint32_t pfs_jfr_class_named(const PfsJfrTypes *types, const char *name);

/* Skips a value of a field. */
PfsReadStatus pfs_jfr_skip_field(PfsJfrBytes *in, const PfsJfrTypes *types,
								 const PfsJfrField *field);

/* Skips a value of a class. */
PfsReadStatus pfs_jfr_skip_value(PfsJfrBytes *in, const PfsJfrTypes *types, uint32_t class_index);

#endif
