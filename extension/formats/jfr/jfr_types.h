/*
 * jfr_types.h
 *		What the metadata of a chunk says of its records: classes and their fields. Knows no server
 *		header.
 */
#ifndef PFS_JFR_TYPES_H
#define PFS_JFR_TYPES_H

#include "formats/id_index.h"
#include "formats/jfr/jfr_bytes.h"

/* How a value of a class is written. */
typedef enum PfsJfrForm
{
	PFS_JFR_FIELDS, /* one field after the other */
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
	bool in_pool;		  /* a key of its class's pool stands for it */
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
	PfsIdIndex ids; /* of classes */
	PfsText *strings;
	uint32_t string_count;
} PfsJfrTypes;

/* Reads the metadata at a place of the chunk. */
PfsReadStatus pfs_jfr_types_read(PfsJfrBytes *in, PfsJfrTypes *types);
void pfs_jfr_types_free(PfsJfrTypes *types, PfsBudget *budget);

/* The class of a name, PFS_NONE where there is none. */
uint32_t pfs_jfr_class_named(const PfsJfrTypes *types, const char *name);

/* Goes over a value of a field. */
PfsReadStatus pfs_jfr_skip_field(PfsJfrBytes *in, const PfsJfrTypes *types,
								 const PfsJfrField *field);

/* Goes over a value of a class. */
PfsReadStatus pfs_jfr_skip_value(PfsJfrBytes *in, const PfsJfrTypes *types, uint32_t class_index);

#endif
