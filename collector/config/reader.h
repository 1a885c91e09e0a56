/*
 * reader.h
 *		A document into structures: tables say which keys there are and how each is read. A key
 *		that no table has is an error, with its place.
 *
 * All functions that read return false where the document is wrong; the failure then tells what
 * and where. What they make lies in the document's arena. A value of null leaves what was there.
 */
#ifndef COLLECTOR_CONFIG_READER_H
#define COLLECTOR_CONFIG_READER_H

#include "config/document.h"

typedef struct ConfigReader
{
	Document *document;
	Failure *failure;
	const char *directory; /* that paths in the file are relative to, "" for none */
} ConfigReader;

typedef bool (*ConfigRead)(ConfigReader *reader, const Node *node, void *field);

typedef struct ConfigField
{
	const char *name;
	ConfigRead read; /* NULL: known elsewhere, and without a meaning here, which is logged */
	size_t offset;	 /* of the field in its structure */
} ConfigField;

typedef struct ConfigList
{
	void *items;
	size_t count;
} ConfigList;

typedef struct ConfigPair
{
	const char *name;
	const char *value;
} ConfigPair;

#define CONFIG_FIELDS(table) (table), sizeof(table) / sizeof((table)[0])

/* Sets the failure; false. reason is a sentence without its full stop. */
bool config_fail(ConfigReader *reader, const Node *node, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
bool config_no_memory(ConfigReader *reader);

/* Zeroed memory of the document's; NULL, and the failure set, where there is none. */
void *config_alloc(ConfigReader *reader, size_t bytes);

/* A mapping into a structure, by a table of its keys. */
bool config_read_fields(ConfigReader *reader, const Node *node, const ConfigField *fields,
						size_t count, void *object);

/* A sequence, each item by a function that is given zeroed room of item_bytes. */
bool config_read_items(ConfigReader *reader, const Node *node, size_t item_bytes,
					   ConfigRead read_item, ConfigList *list);

bool config_read_text(ConfigReader *reader, const Node *node, void *field);		/* const char * */
bool config_read_path(ConfigReader *reader, const Node *node, void *field);		/* const char * */
bool config_read_bool(ConfigReader *reader, const Node *node, void *field);		/* bool */
bool config_read_number(ConfigReader *reader, const Node *node, void *field);	/* int64_t, ≥ 0 */
bool config_read_duration(ConfigReader *reader, const Node *node, void *field); /* int64_t, ms */
bool config_read_texts(ConfigReader *reader, const Node *node, void *field); /* of const char * */
bool config_read_pairs(ConfigReader *reader, const Node *node, void *field); /* of ConfigPair */

/* For what is read in a second step: takes anything, and does nothing. */
bool config_read_any(ConfigReader *reader, const Node *node, void *field);

/* For what others know of, and that cannot be done without here. */
bool config_refuse(ConfigReader *reader, const Node *node, void *field);

/* The value of a key, NULL where the mapping has none. */
const Node *config_find(const Node *mapping, const char *key);

/* "1h30m", as Prometheus writes durations; 0 needs no unit. False where it is none. */
bool config_parse_duration(const char *text, int64_t *ms);

#endif
