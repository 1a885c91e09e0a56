/*
 * config_reader.h
 *		Reads a document into structures, driven by tables of keys. An unknown key is an error that
 *		names its line and column.
 *
 * Functions that read return false if the document is wrong; *failure then contains reason and
 * position. Memory is allocated from the document's arena. A null value leaves the field unchanged.
 */
#ifndef COLLECTOR_CONFIG_READER_H
#define COLLECTOR_CONFIG_READER_H

#include "config/document.h"

typedef struct ConfigReader
{
	Document *document;
	Failure *failure;
	const char *directory; /* base of relative paths; "" for a text that is not a file */
} ConfigReader;

typedef bool (*ConfigRead)(ConfigReader *reader, const Node *node, void *field);

typedef struct ConfigField
{
	const char *name;
	/* NULL: the key is known but has no effect in this program, which is logged */
	ConfigRead read;
	size_t offset; /* offset of the field in its structure */
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

/* Sets the failure and returns false. The formatted text is a sentence without its period. */
bool config_fail(ConfigReader *reader, const Node *node, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
bool config_no_memory(ConfigReader *reader);

/*
 * Returns zeroed memory that is freed with the document; NULL, with the failure set, on out of
 * memory.
 */
void *config_alloc(ConfigReader *reader, size_t bytes);

/* Reads a mapping into a structure. */
bool config_read_fields(ConfigReader *reader, const Node *node, const ConfigField *fields,
						size_t count, void *object);

/* Reads a sequence. read_item is given item_bytes of zeroed memory for each item. */
bool config_read_items(ConfigReader *reader, const Node *node, size_t item_bytes,
					   ConfigRead read_item, ConfigList *list);

bool config_read_text(ConfigReader *reader, const Node *node, void *field);		/* const char * */
bool config_read_path(ConfigReader *reader, const Node *node, void *field);		/* const char * */
bool config_read_bool(ConfigReader *reader, const Node *node, void *field);		/* bool */
bool config_read_number(ConfigReader *reader, const Node *node, void *field);	/* int64_t, ≥ 0 */
bool config_read_duration(ConfigReader *reader, const Node *node, void *field); /* int64_t, ms */
/* list of const char * */
bool config_read_texts(ConfigReader *reader, const Node *node, void *field);
/* list of ConfigPair */
bool config_read_pairs(ConfigReader *reader, const Node *node, void *field);

/* Accepts any value and does nothing: for keys that the caller reads later by config_find(). */
bool config_read_any(ConfigReader *reader, const Node *node, void *field);

/* Refuses a key of which other programs rely on the effect, so that ignoring it would be wrong. */
bool config_refuse(ConfigReader *reader, const Node *node, void *field);

/* Returns the value of a key; NULL if the mapping lacks it. */
const Node *config_find(const Node *mapping, const char *key);

/*
 * Parses a duration in Prometheus' syntax, such as "1h30m" or "0". Returns false if it is
 * malformed.
 */
bool config_parse_duration(const char *text, int64_t *ms);

#endif
