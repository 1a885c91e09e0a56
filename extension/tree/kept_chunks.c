/*
 * kept_chunks.c
 *		Keeps chunks in a hash table by their keys.
 */
#include "tree/kept_chunks.h"

#include "base/hash.h"

#define INITIAL_PLACES 64

typedef struct ChunkPlace
{
	PfsChunkKey key;
	PfsKeptChunk *chunk;
	uint64 query; /* number of the query that used the chunk last */
	bool is_new;  /* the chunk was made by this process */
	char status;
} ChunkPlace;

static inline uint32
hash_key(const PfsChunkKey *key)
{
	return pfs_hash64((uint64) key->segment_no ^ ((uint64) key->storage_id << 40) ^
					  ((uint64) key->chunk << 56));
}

static inline bool
keys_are_equal(const PfsChunkKey *a, const PfsChunkKey *b)
{
	return a->storage_id == b->storage_id && a->segment_no == b->segment_no &&
		   a->columns == b->columns && a->chunk == b->chunk;
}

#define SH_PREFIX		   chunk_places
#define SH_ELEMENT_TYPE	   ChunkPlace
#define SH_KEY_TYPE		   PfsChunkKey
#define SH_KEY			   key
#define SH_HASH_KEY(tb, k) hash_key(&(k))
#define SH_EQUAL(tb, a, b) keys_are_equal(&(a), &(b))
#define SH_SCOPE		   static inline
#define SH_DECLARE
#define SH_DEFINE
#include "lib/simplehash.h"

struct PfsKeptChunks
{
	MemoryContext context;
	chunk_places_hash *places;
	Size bytes; /* bytes of all chunks */
	uint64 query;
};

PfsKeptChunks *
pfs_kept_chunks_create(MemoryContext context)
{
	PfsKeptChunks *chunks = MemoryContextAllocZero(context, sizeof(PfsKeptChunks));

	chunks->context = context;
	chunks->places = chunk_places_create(context, INITIAL_PLACES, NULL);
	return chunks;
}

void
pfs_kept_chunks_begin(PfsKeptChunks *chunks)
{
	chunks->query++;
}

const PfsKeptChunk *
pfs_kept_chunks_find(PfsKeptChunks *chunks, const PfsChunkKey *key)
{
	ChunkPlace *place = chunk_places_lookup(chunks->places, *key);

	if (place == NULL)
		return NULL;
	/* The chunk is in use, so it must not be freed before the query ends. */
	place->query = chunks->query;
	return place->chunk;
}

static void
remove_chunk(PfsKeptChunks *chunks, ChunkPlace *place)
{
	PfsKeptChunk *chunk = place->chunk;

	chunks->bytes -= chunk->bytes;
	chunk_places_delete(chunks->places, place->key);
	pfree(chunk);
}

/* Frees the chunks that the current query has not used. */
static void
kept_chunks_make_room(PfsKeptChunks *chunks)
{
	uint32 count = 0;
	PfsChunkKey *unused = PFS_ARRAY(PfsChunkKey, chunks->places->members);
	chunk_places_iterator iterator;
	ChunkPlace *place;

	chunk_places_start_iterate(chunks->places, &iterator);
	while ((place = chunk_places_iterate(chunks->places, &iterator)) != NULL)
		if (place->query != chunks->query)
			/* Deleting moves entries of the hash table, so keys are listed first. */
			unused[count++] = place->key;
	for (uint32 i = 0; i < count; i++)
		remove_chunk(chunks, chunk_places_lookup(chunks->places, unused[i]));
	pfree(unused);
}

/*
 * Keeps a copy of a chunk, in place of an older one; nothing if there is no room even after others
 * were removed.
 */
static void
kept_chunks_put(PfsKeptChunks *chunks, const PfsKeptChunk *chunk, Size most_bytes, bool is_new)
{
	ChunkPlace *place = chunk_places_lookup(chunks->places, chunk->key);
	PfsKeptChunk *copy;
	bool found;

	if (place != NULL)
		remove_chunk(chunks, place);
	if (chunks->bytes + chunk->bytes > most_bytes)
		kept_chunks_make_room(chunks);
	/* There is no room even without the chunks of other queries: this one is not kept. */
	if (chunks->bytes + chunk->bytes > most_bytes)
		return;
	copy = MemoryContextAlloc(chunks->context, chunk->bytes);
	memcpy(copy, chunk, chunk->bytes);
	place = chunk_places_insert(chunks->places, chunk->key, &found);
	place->chunk = copy;
	place->query = chunks->query;
	place->is_new = is_new;
	chunks->bytes += copy->bytes;
}

void
pfs_kept_chunks_put(PfsKeptChunks *chunks, const PfsKeptChunk *chunk, Size most_bytes)
{
	kept_chunks_put(chunks, chunk, most_bytes, true);
}

uint64
pfs_kept_chunks_source_rows(const PfsKeptChunks *chunks, TimestampTz from, TimestampTz to)
{
	chunk_places_iterator iterator;
	const ChunkPlace *place;
	uint64 rows = 0;

	chunk_places_start_iterate(chunks->places, &iterator);
	while ((place = chunk_places_iterate(chunks->places, &iterator)) != NULL)
		/* This is an estimate: the least time of a chunk decides for all of its rows. */
		if (place->chunk->least_time >= from && place->chunk->least_time < to)
			rows += place->chunk->source_rows;
	return rows;
}

Size
pfs_kept_chunks_bytes(const PfsKeptChunks *chunks)
{
	return chunks->bytes;
}

Size
pfs_kept_chunks_write(const PfsKeptChunks *chunks, bool new_ones, char *to, Size room)
{
	chunk_places_iterator iterator;
	const ChunkPlace *place;
	Size bytes = 0;

	chunk_places_start_iterate(chunks->places, &iterator);
	while ((place = chunk_places_iterate(chunks->places, &iterator)) != NULL)
		/* A chunk that does not fit is left out; smaller ones may still fit. */
		if ((place->is_new || !new_ones) && place->chunk->bytes <= room - bytes)
		{
			memcpy(to + bytes, place->chunk, place->chunk->bytes);
			bytes += place->chunk->bytes;
		}
	return bytes;
}

void
pfs_kept_chunks_read(PfsKeptChunks *chunks, const char *from, Size bytes, Size most_bytes)
{
	const char *end = from + bytes;

	for (const PfsKeptChunk *chunk; from < end; from += chunk->bytes)
	{
		chunk = (const PfsKeptChunk *) from;
		/* Not new: this process need not send the chunk back. */
		kept_chunks_put(chunks, chunk, most_bytes, false);
	}
}
