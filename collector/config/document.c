/*
 * document.c
 *		Builds a tree from libyaml's events.
 *
 * An alias becomes a pointer to the anchored node, so a document is a graph. It has no cycles,
 * because an anchor is known only after the end of its node. The number of nodes that a walk would
 * visit is counted while nodes are made.
 */
#include "config/document.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <yaml.h>

#include "base/grow.h"
#include "base/regular_file.h"

#define ARENA_BYTES_MAX ((size_t) 192 * 1024 * 1024)
#define ANCHORS_MAX		256 /* each alias searches them linearly */

typedef struct Anchor
{
	const char *name;
	Node *node;
} Anchor;

typedef struct Builder
{
	Document *document;
	yaml_parser_t parser;
	Failure *failure;
	Anchor *anchors;
	size_t anchor_count;
	size_t anchor_capacity;
} Builder;

typedef struct Items
{
	Node **items;
	size_t count;
	size_t capacity;
} Items;

/* Sets the failure to reason at a position; returns false. */
static bool
fail_at(Builder *builder, size_t line, size_t column, const char *reason)
{
	failure_set(builder->failure, EXIT_CONFIG, "could not read the configuration");
	failure_detail(builder->failure, "\"%s\", line %zu, column %zu: %s.", builder->document->path,
				   line, column, reason);
	return false;
}

static bool
fail_at_mark(Builder *builder, yaml_mark_t mark, const char *reason)
{
	return fail_at(builder, mark.line + 1, mark.column + 1, reason);
}

static bool
fail_out_of_memory(Builder *builder)
{
	failure_set(builder->failure, EXIT_CONFIG, "could not read the configuration");
	failure_detail(builder->failure, "Reading \"%s\" takes too much memory.",
				   builder->document->path);
	return false;
}

static bool
next_event(Builder *builder, yaml_event_t *event)
{
	const yaml_parser_t *parser = &builder->parser;
	char reason[200];

	if (yaml_parser_parse(&builder->parser, event))
		return true;
	if (parser->error == YAML_MEMORY_ERROR)
		return fail_out_of_memory(builder);
	snprintf(reason, sizeof(reason), "%s%s%s", parser->context != NULL ? parser->context : "",
			 parser->context != NULL ? ", " : "",
			 parser->problem != NULL ? parser->problem : "not YAML");
	return fail_at_mark(builder, parser->problem_mark, reason);
}

static void *
arena_copy(Builder *builder, const void *bytes, size_t length)
{
	char *copied = arena_alloc(&builder->document->arena, length + 1);

	if (copied == NULL)
		return NULL;
	if (length > 0)
		memcpy(copied, bytes, length);
	copied[length] = '\0';
	return copied;
}

static Node *
make_node(Builder *builder, NodeKind kind, yaml_mark_t mark)
{
	Node *node = arena_alloc(&builder->document->arena, sizeof(Node));

	if (node == NULL)
	{
		fail_out_of_memory(builder);
		return NULL;
	}
	*node = (Node){ .kind = kind,
					.line = (uint32_t) mark.line + 1,
					.column = (uint32_t) mark.column + 1,
					.weight = 1,
					.text = "" };
	return node;
}

/*
 * Adds the weight of a child to its parent. A node that aliases repeat counts each time, which
 * bounds documents in which aliases multiply ("billion laughs").
 */
static bool
add_weight(Builder *builder, Node *to, const Node *of)
{
	to->weight += of->weight;
	return to->weight <= DOCUMENT_NODES_MAX ||
		   fail_at(builder, to->line, to->column, "It contains too many nodes");
}

static bool
document_add_item(Builder *builder, Items *items, Node *node)
{
	if (grow_array(&items->items, &items->capacity, items->count, sizeof(Node *)) != 0)
		return fail_out_of_memory(builder);
	items->items[items->count++] = node;
	return true;
}

static bool
remember_anchor(Builder *builder, const yaml_char_t *name, Node *node)
{
	Anchor anchor = { .node = node };

	if (name == NULL)
		return true;
	if (builder->anchor_count == ANCHORS_MAX)
		return fail_at(builder, node->line, node->column, "There are too many anchors");
	anchor.name = arena_copy(builder, name, strlen((const char *) name));
	if (anchor.name == NULL || grow_array(&builder->anchors, &builder->anchor_capacity,
										  builder->anchor_count, sizeof(Anchor)) != 0)
		return fail_out_of_memory(builder);
	builder->anchors[builder->anchor_count++] = anchor;
	return true;
}

/* Returns the latest anchor with this name, as YAML requires. */
static Node *
find_anchor(Builder *builder, const yaml_event_t *event)
{
	const char *name = (const char *) event->data.alias.anchor;

	for (size_t i = builder->anchor_count; i > 0; i--)
		if (strcmp(builder->anchors[i - 1].name, name) == 0)
			return builder->anchors[i - 1].node;
	fail_at_mark(builder, event->start_mark, "The alias refers to no anchor");
	return NULL;
}

/* Makes a scalar node. Refuses a text with NUL bytes, because nodes hold C strings. */
static Node *
make_scalar(Builder *builder, const yaml_event_t *event)
{
	Node *node = make_node(builder, NODE_SCALAR, event->start_mark);
	size_t length = event->data.scalar.length;

	if (node == NULL)
		return NULL;
	if (memchr(event->data.scalar.value, '\0', length) != NULL)
	{
		fail_at_mark(builder, event->start_mark, "A text contains a NUL byte");
		return NULL;
	}
	node->plain = event->data.scalar.style == YAML_PLAIN_SCALAR_STYLE;
	node->text = arena_copy(builder, event->data.scalar.value, length);
	if (node->text == NULL)
	{
		fail_out_of_memory(builder);
		return NULL;
	}
	return node;
}

static Node *build_node(Builder *builder, yaml_event_t *event, int depth);

/* Reads nodes into items until an event of type end. */
static bool
build_items(Builder *builder, yaml_event_type_t end, Node *of, Items *items, int depth)
{
	for (;;)
	{
		yaml_event_t event;
		bool ends;
		Node *node = NULL;

		if (!next_event(builder, &event))
			return false;
		ends = event.type == end;
		if (!ends)
			node = build_node(builder, &event, depth);
		yaml_event_delete(&event);
		if (ends)
			return true;
		if (node == NULL || !document_add_item(builder, items, node) ||
			!add_weight(builder, of, node))
			return false;
	}
}

/* --- mappings --- */

typedef struct Key
{
	const Node *node;
	size_t place;
} Key;

static int
compare_keys(const void *a, const void *b)
{
	const Key *left = a;
	const Key *right = b;
	int order = strcmp(left->node->text, right->node->text);

	return order != 0 ? order : (left->place > right->place) - (left->place < right->place);
}

static bool
is_merge(const Node *key)
{
	return key->plain && strcmp(key->text, "<<") == 0;
}

/*
 * Removes repeated keys; the first of equal keys stays. The first "own" items are the mapping's own
 * keys, which must differ from each other; merged keys follow, so own keys override them.
 */
static bool
drop_repeated(Builder *builder, Items *items, size_t own)
{
	size_t pairs = items->count / 2;
	Key *keys = reallocarray(NULL, pairs + 1, sizeof(Key));
	size_t left = 0;
	bool result = keys != NULL || fail_out_of_memory(builder);

	for (size_t i = 0; result && i < pairs; i++)
		keys[i] = (Key){ items->items[2 * i], i };
	if (result)
		qsort(keys, pairs, sizeof(Key), compare_keys);
	for (size_t i = 1; result && i < pairs; i++)
	{
		if (strcmp(keys[i - 1].node->text, keys[i].node->text) != 0)
			continue;
		if (keys[i].place * 2 < own)
			result =
				fail_at(builder, keys[i].node->line, keys[i].node->column, "The key is repeated");
		items->items[keys[i].place * 2] = NULL;
	}
	for (size_t i = 0; result && i < pairs; i++)
	{
		if (items->items[2 * i] == NULL)
			continue;
		items->items[left++] = items->items[2 * i];
		items->items[left++] = items->items[2 * i + 1];
	}
	items->count = left;
	free(keys);
	return result;
}

static bool
merge_mapping(Builder *builder, const Node *from, Items *to, Node *of)
{
	if (from->kind != NODE_MAPPING)
		return fail_at(builder, from->line, from->column, "Only mappings can be merged");
	for (size_t i = 0; i < from->count * 2; i++)
		if (!document_add_item(builder, to, from->items[i]) ||
			!add_weight(builder, of, from->items[i]))
			return false;
	return true;
}

/* Adds the pairs that a "<<" key merges; its value is a mapping or a sequence of mappings. */
static bool
merge_value(Builder *builder, const Node *from, Items *to, Node *of)
{
	if (from->kind != NODE_SEQUENCE)
		return merge_mapping(builder, from, to, of);
	for (size_t i = 0; i < from->count; i++)
		if (!merge_mapping(builder, from->items[i], to, of))
			return false;
	return true;
}

/* Checks that all keys are scalars, and replaces each "<<" key by the pairs that it merges. */
static bool
finish_mapping(Builder *builder, Node *node, const Items *raw, Items *items)
{
	size_t own;

	for (size_t i = 0; i < raw->count; i += 2)
	{
		Node *key = raw->items[i];

		if (key->kind != NODE_SCALAR)
			return fail_at(builder, key->line, key->column, "A key must be a text");
		if (!is_merge(key) && (!document_add_item(builder, items, key) ||
							   !document_add_item(builder, items, raw->items[i + 1])))
			return false;
	}
	own = items->count;
	for (size_t i = 0; i < raw->count; i += 2)
		if (is_merge(raw->items[i]) && !merge_value(builder, raw->items[i + 1], items, node))
			return false;
	return drop_repeated(builder, items, own);
}

/* Makes a sequence or mapping node and everything within it. */
static Node *
make_collection(Builder *builder, const yaml_event_t *event, int depth)
{
	bool maps = event->type == YAML_MAPPING_START_EVENT;
	Node *node = make_node(builder, maps ? NODE_MAPPING : NODE_SEQUENCE, event->start_mark);
	Items raw = { NULL };
	Items items = { NULL };
	bool made;

	if (node == NULL)
		return NULL;
	made = build_items(builder, maps ? YAML_MAPPING_END_EVENT : YAML_SEQUENCE_END_EVENT, node, &raw,
					   depth + 1);
	if (made && maps)
		made = finish_mapping(builder, node, &raw, &items);
	if (made)
	{
		const Items *from = maps ? &items : &raw;

		node->count = maps ? from->count / 2 : from->count;
		node->items = arena_copy(builder, from->items, from->count * sizeof(Node *));
		made = node->items != NULL || fail_out_of_memory(builder);
	}
	free(raw.items);
	free(items.items);
	return made ? node : NULL;
}

/* Makes the node that begins with event, and its descendants. */
static Node *
build_node(Builder *builder, yaml_event_t *event, int depth)
{
	const yaml_char_t *anchor = NULL;
	Node *node = NULL;

	if (depth > DOCUMENT_DEPTH_MAX)
	{
		fail_at_mark(builder, event->start_mark, "It is nested too deeply");
		return NULL;
	}
	switch ((int) event->type)
	{
		case YAML_ALIAS_EVENT:
			return find_anchor(builder, event);
		case YAML_SCALAR_EVENT:
			anchor = event->data.scalar.anchor;
			node = make_scalar(builder, event);
			break;
		case YAML_SEQUENCE_START_EVENT:
			anchor = event->data.sequence_start.anchor;
			node = make_collection(builder, event, depth);
			break;
		case YAML_MAPPING_START_EVENT:
			anchor = event->data.mapping_start.anchor;
			node = make_collection(builder, event, depth);
			break;
		default:
			fail_at_mark(builder, event->start_mark, "The document is incomplete");
			return NULL;
	}
	return node != NULL && remember_anchor(builder, anchor, node) ? node : NULL;
}

/* Builds the only document of the stream, or none if the stream is empty. */
static bool
build_document(Builder *builder)
{
	bool in_stream = true;
	bool good = true;

	while (in_stream && good)
	{
		yaml_event_t event;

		if (!next_event(builder, &event))
			return false;
		switch ((int) event.type)
		{
			case YAML_STREAM_START_EVENT:
			case YAML_DOCUMENT_END_EVENT:
				break;
			case YAML_DOCUMENT_START_EVENT:
				if (builder->document->root != NULL)
					good = fail_at_mark(builder, event.start_mark, "There is a second document");
				break;
			case YAML_STREAM_END_EVENT:
				in_stream = false;
				break;
			default:
				builder->document->root = build_node(builder, &event, 0);
				good = builder->document->root != NULL;
		}
		yaml_event_delete(&event);
	}
	return good;
}

ExitCode
document_parse(Document *document, const char *path, const char *bytes, size_t length,
			   Failure *failure)
{
	Builder builder = { .document = document, .failure = failure };
	bool good;

	*document = (Document){ .budget.limit_bytes = ARENA_BYTES_MAX, .path = path };
	arena_init(&document->arena, &document->budget);
	if (length > DOCUMENT_BYTES_MAX)
	{
		failure_set(failure, EXIT_CONFIG, "could not read the configuration");
		failure_detail(failure, "\"%s\": It is larger than 16 MB.", path);
		return failure->code;
	}
	if (!yaml_parser_initialize(&builder.parser))
	{
		fail_out_of_memory(&builder);
		return failure->code;
	}
	yaml_parser_set_input_string(&builder.parser, (const unsigned char *) bytes, length);
	good = build_document(&builder);
	yaml_parser_delete(&builder.parser);
	free(builder.anchors);
	return good ? EXIT_OK : failure->code;
}

static ExitCode
document_fail_unreadable(const char *path, const char *reason, Failure *failure)
{
	return failure_of_file(failure, "could not read the configuration", path, reason);
}

/* Reads and parses an open file, then closes it. */
static ExitCode
read_open_file(Document *document, const char *path, FILE *file, Failure *failure)
{
	char *bytes = malloc(DOCUMENT_BYTES_MAX + 1);
	size_t length = bytes == NULL ? 0 : fread(bytes, 1, DOCUMENT_BYTES_MAX + 1, file);
	ExitCode code;

	if (bytes == NULL || ferror(file))
		code = document_fail_unreadable(path, strerror(errno), failure);
	else
		code = document_parse(document, path, bytes, length, failure);
	free(bytes);
	fclose(file);
	return code;
}

ExitCode
document_read(Document *document, const char *path, Failure *failure)
{
	FILE *file = fopen(path, "re");

	*document = (Document){ .path = path };
	return file == NULL ? document_fail_unreadable(path, strerror(errno), failure)
						: read_open_file(document, path, file, failure);
}

ExitCode
document_read_regular(Document *document, const char *path, Failure *failure)
{
	const char *problem;
	FILE *file = regular_file_open(path, &problem);

	*document = (Document){ .path = path };
	return file == NULL ? document_fail_unreadable(path, problem, failure)
						: read_open_file(document, path, file, failure);
}

bool
document_own(Document *document, void (*free_object)(void *object), void *object)
{
	DocumentEnd *end = arena_alloc(&document->arena, sizeof(DocumentEnd));

	if (end == NULL)
	{
		free_object(object);
		return false;
	}
	*end = (DocumentEnd){ document->ends, free_object, object };
	document->ends = end;
	return true;
}

void
document_free(Document *document)
{
	for (DocumentEnd *end = document->ends; end != NULL; end = end->next)
		end->free(end->object);
	document->ends = NULL;
	if (document->arena.budget != NULL)
		arena_fini(&document->arena);
	document->root = NULL;
}

bool
node_is_null(const Node *node)
{
	static const char *const words[] = { "", "~", "null", "Null", "NULL" };

	if (node->kind != NODE_SCALAR || !node->plain)
		return false;
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		if (strcmp(node->text, words[i]) == 0)
			return true;
	return false;
}
