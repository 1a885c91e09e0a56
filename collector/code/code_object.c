/*
 * code_object.c
 *		A hash table of code objects by content, guarded by one mutex.
 */
#include "code/code_object.h"

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include <uthash.h>

#include "base/hash.h"

struct CodeObject
{
	CodeTable *table;
	uint64_t hash;
	uint32_t references; /* guarded by the table's mutex */
	size_t bytes;
	CodeName name;
	UT_hash_handle hh;
	char texts[]; /* strings of the name */
};

struct CodeTable
{
	pthread_mutex_t mutex; /* guards all fields below */
	uint64_t seed;
	size_t limit_bytes;
	CodeObject *objects;
	uint64_t removals; /* number of removed objects */
	CodeTableStats stats;
};

int
code_table_create(size_t limit_bytes, CodeTable **result)
{
	CodeTable *table = calloc(1, sizeof(*table));

	if (table == NULL)
		return -ENOMEM;
	pthread_mutex_init(&table->mutex, NULL);
	table->seed = hash_seed();
	table->limit_bytes = limit_bytes;
	*result = table;
	return 0;
}

/* Frees an object. The caller must hold the mutex, or be the last user of the table. */
static void
remove_object(CodeTable *table, CodeObject *object)
{
	HASH_DEL(table->objects, object);
	table->stats.count--;
	table->stats.bytes -= object->bytes;
	table->removals++;
	free(object);
}

void
code_table_free(CodeTable *table)
{
	CodeObject *object;
	CodeObject *next;

	if (table == NULL)
		return;
	HASH_ITER(hh, table->objects, object, next)
		remove_object(table, object);
	pthread_mutex_destroy(&table->mutex);
	free(table);
}

/* Returns the length to which a text is cut, without splitting a character. */
static size_t
kept_bytes(const char *text)
{
	size_t length = strnlen(text, CODE_TEXT_BYTES + 1);

	if (length <= CODE_TEXT_BYTES)
		return length;
	length = CODE_TEXT_BYTES;
	while (length > CODE_TEXT_BYTES - 3 && ((unsigned char) text[length] & 0xc0) == 0x80)
		length--;
	return length;
}

static uint64_t
hash_name(const CodeTable *table, const CodeName *name)
{
	uint64_t hash = hash_word(table->seed,
							  (uint64_t) (uint32_t) name->start_line << 32 | (uint32_t) name->line);

	hash = hash_bytes(hash, name->runtime, kept_bytes(name->runtime));
	hash = hash_bytes(hash, name->name, kept_bytes(name->name));
	return hash_bytes(hash, name->file, kept_bytes(name->file));
}

static bool
is_kept_of(const char *kept, const char *text)
{
	size_t length = kept_bytes(text);

	return strncmp(kept, text, length) == 0 && kept[length] == '\0';
}

static bool
code_object_has_name(const CodeObject *object, const CodeName *name)
{
	return object->name.start_line == name->start_line && object->name.line == name->line &&
		   is_kept_of(object->name.name, name->name) && is_kept_of(object->name.file, name->file) &&
		   is_kept_of(object->name.runtime, name->runtime);
}

static const char *
code_object_copy_text(char **room, const char *text)
{
	size_t length = kept_bytes(text);
	char *copy = memcpy(*room, text, length);

	copy[length] = '\0';
	*room += length + 1;
	return copy;
}

/*
 * Makes an object without references; NULL if there is no room for it. The caller must hold the
 * mutex.
 */
static CodeObject *
make_object(CodeTable *table, const CodeName *name, uint64_t hash)
{
	size_t bytes = sizeof(CodeObject) + kept_bytes(name->runtime) + kept_bytes(name->name) +
				   kept_bytes(name->file) + 3;
	CodeObject *object = bytes <= table->limit_bytes - table->stats.bytes ? malloc(bytes) : NULL;
	char *room;

	if (object == NULL)
		return NULL;
	room = object->texts;
	object->table = table;
	object->hash = hash;
	object->references = 0;
	object->bytes = bytes;
	object->name = (CodeName){ .runtime = code_object_copy_text(&room, name->runtime),
							   .name = code_object_copy_text(&room, name->name),
							   .file = code_object_copy_text(&room, name->file),
							   .start_line = name->start_line,
							   .line = name->line };
	HASH_ADD(hh, table->objects, hash, sizeof(object->hash), object);
	table->stats.count++;
	table->stats.bytes += bytes;
	return object;
}

CodeObject *
code_table_add(CodeTable *table, const CodeName *name)
{
	uint64_t hash = hash_name(table, name);
	CodeObject *object;

	pthread_mutex_lock(&table->mutex);
	HASH_FIND(hh, table->objects, &hash, sizeof(hash), object);
	if (object == NULL || !code_object_has_name(object, name))
		object = make_object(table, name, hash);
	if (object != NULL)
		object->references++;
	else
		table->stats.refused++;
	pthread_mutex_unlock(&table->mutex);
	return object;
}

/* Returns a reference to the hint's object if it is alive and has these lines; otherwise NULL. */
static CodeObject *
retain_hinted(CodeTable *table, const CodeName *name, const CodeHint *hint)
{
	CodeObject *object = NULL;

	pthread_mutex_lock(&table->mutex);
	if (hint->object != NULL && hint->removals == table->removals &&
		hint->object->name.line == name->line && hint->object->name.start_line == name->start_line)
	{
		object = hint->object;
		object->references++;
	}
	pthread_mutex_unlock(&table->mutex);
	return object;
}

CodeObject *
code_table_add_again(CodeTable *table, const CodeName *name, CodeHint *hint)
{
	CodeObject *object = retain_hinted(table, name, hint);

	if (object != NULL)
		return object;
	object = code_table_add(table, name);
	if (object == NULL)
		return NULL;
	pthread_mutex_lock(&table->mutex);
	*hint = (CodeHint){ .object = object, .removals = table->removals };
	pthread_mutex_unlock(&table->mutex);
	return object;
}

void
code_table_stats(CodeTable *table, CodeTableStats *stats)
{
	pthread_mutex_lock(&table->mutex);
	*stats = table->stats;
	pthread_mutex_unlock(&table->mutex);
}

CodeObject *
code_object_retain(CodeObject *object)
{
	pthread_mutex_lock(&object->table->mutex);
	object->references++;
	pthread_mutex_unlock(&object->table->mutex);
	return object;
}

void
code_object_release(CodeObject *object)
{
	CodeTable *table;

	if (object == NULL)
		return;
	table = object->table;
	pthread_mutex_lock(&table->mutex);
	if (--object->references == 0)
		remove_object(table, object);
	pthread_mutex_unlock(&table->mutex);
}

const CodeName *
code_object_name(const CodeObject *object)
{
	return &object->name;
}
