/*
 * document.h
 *		A YAML document in memory: scalars, sequences and mappings, each with its line and column.
 *
 * libyaml parses one document, without tags; aliases are followed and "<<" merges mappings. Size,
 * number of nodes (counting those that aliases repeat) and depth are bounded. JSON is YAML, so this
 * reads JSON, too.
 */
#ifndef COLLECTOR_DOCUMENT_H
#define COLLECTOR_DOCUMENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "program/failure.h"

#define DOCUMENT_BYTES_MAX ((size_t) 16 * 1024 * 1024)
#define DOCUMENT_NODES_MAX 1000000
#define DOCUMENT_DEPTH_MAX 64

typedef enum NodeKind
{
	NODE_SCALAR,
	NODE_SEQUENCE,
	NODE_MAPPING
} NodeKind;

typedef struct Node
{
	NodeKind kind;
	bool plain;	   /* scalar without quotes */
	uint32_t line; /* from 1, like column */
	uint32_t column;
	/* number of nodes below and including this one; a node that aliases repeat counts each time */
	uint32_t weight;
	const char *text;	 /* text of a scalar */
	size_t count;		 /* number of items of a sequence, or of pairs of a mapping */
	struct Node **items; /* items of a sequence; of a mapping: key, value, key, value, … */
} Node;

/* An object that is freed with the document. */
typedef struct DocumentEnd
{
	struct DocumentEnd *next;
	void (*free)(void *object);
	void *object;
} DocumentEnd;

typedef struct Document
{
	Budget budget;
	/* memory of all nodes; readers of the document may allocate from this arena, too */
	Arena arena;
	const char *path;
	Node *root; /* NULL if the document is empty */
	DocumentEnd *ends;
} Document;

/*
 * Parses a document. Returns EXIT_OK, or EXIT_CONFIG with the position in *failure. The caller must
 * call document_free() in either case. path is used in messages and must outlive the document.
 */
ExitCode document_parse(Document *document, const char *path, const char *bytes, size_t length,
						Failure *failure);

/* Like document_parse(), but reads the file at path; EXIT_IO if it cannot be read. */
ExitCode document_read(Document *document, const char *path, Failure *failure);

/* Like document_read(), but returns EXIT_IO for a FIFO or device, which might block. */
ExitCode document_read_regular(Document *document, const char *path, Failure *failure);
void document_free(Document *document); /* accepts a zeroed document */

/* Frees object when the document is freed. On out of memory frees it at once and returns false. */
bool document_own(Document *document, void (*free)(void *object), void *object);

/* Returns true for "~", "null" and an empty plain scalar. */
bool node_is_null(const Node *node);

#endif
