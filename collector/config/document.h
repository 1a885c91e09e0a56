/*
 * document.h
 *		A YAML document in memory: scalars, sequences, mappings, each with its place.
 *
 * Read by libyaml. One document; no tags, no directives of meaning here; aliases stand for what
 * they name, and "<<" merges mappings. What it may cost is bounded, with aliases followed: bytes,
 * nodes, depth. JSON is YAML.
 */
#ifndef COLLECTOR_DOCUMENT_H
#define COLLECTOR_DOCUMENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/failure.h"

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
	bool plain;	   /* of a scalar: without quotes */
	uint32_t line; /* from 1; so the column */
	uint32_t column;
	uint32_t weight;	 /* nodes in it, itself and what aliases repeat included */
	const char *text;	 /* of a scalar */
	size_t count;		 /* items; pairs of a mapping */
	struct Node **items; /* of a mapping: key, value, key, value … */
} Node;

/* What has to be given back with a document, beside its memory. */
typedef struct DocumentEnd
{
	struct DocumentEnd *next;
	void (*free)(void *object);
	void *object;
} DocumentEnd;

typedef struct Document
{
	Budget budget;
	Arena arena; /* of all that it holds; whoever reads it may take from it, too */
	const char *path;
	Node *root; /* NULL: nothing but comments */
	DocumentEnd *ends;
} Document;

/*
 * EXIT_OK, or EXIT_CONFIG with the place in *failure. To be given back in either case. path is what
 * messages call it, and must outlive the document.
 */
ExitCode document_parse(Document *document, const char *path, const char *bytes, size_t length,
						Failure *failure);

/* The same of a file; EXIT_IO where it cannot be read. */
ExitCode document_read(Document *document, const char *path, Failure *failure);

/* Like document_read(), but EXIT_IO for a FIFO or device too, which may block the reader. */
ExitCode document_read_regular(Document *document, const char *path, Failure *failure);
void document_free(Document *document); /* a zeroed one, too */

/* Has an object freed with the document, or at once, and false, where memory is out. */
bool document_own(Document *document, void (*free)(void *object), void *object);

/* True for "~", "null" and nothing at all. */
bool node_is_null(const Node *node);

#endif
