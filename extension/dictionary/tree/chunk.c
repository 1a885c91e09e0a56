/*
 * chunk.c
 *		Packs nodes of the stack tree into bytes, and unpacks them.
 *
 * 1. Packing: the parts of the body are written one after another, and their lengths are put in
 *    front; zstd compresses the body if that saves a tenth; the header with the checksum is filled
 *    in last.
 * 2. Unpacking: checksum, version and counts; the body; numbers, parents, locations.
 *
 * Decoding trusts nothing: a cursor knows its end, and every number is checked against the rules of
 * a tree before it is used. zstd contexts are created and freed within one call of the library, so
 * that no error of ours can leak one.
 */
#include "profstore.h"

#include <zstd.h>

#include "port/pg_crc32c.h"

#include "codec/bytes.h"
#include "dictionary/cache/dictionary.h"
#include "dictionary/tree/chunk.h"
#include "dictionary/tree/chunk_format.h"

/* In smaller bodies the header of a zstd frame exceeds its saving. */
#define MIN_COMPRESSED_BODY 64
#define COMPRESSION_LEVEL	3

typedef struct Cursor
{
	const uint8 *at;
	const uint8 *end;
	const PfsChunkRow *row; /* for error messages */
} Cursor;

static uint8 *
bytes_put_varint(uint8 *at, uint64 value)
{
	while (value >= 0x80)
	{
		*at++ = (uint8) (value | 0x80);
		value >>= 7;
	}
	*at++ = (uint8) value;
	return at;
}

pg_noreturn static void
chunk_raise_corrupt(const PfsChunkRow *row, const char *detail)
{
	ereport(
		ERROR,
		(errcode(ERRCODE_DATA_CORRUPTED),
		 errmsg("stack chunk with first node " INT64_FORMAT
				" of dictionary partition %d is damaged",
				row->first_node, row->partition_id),
		 errdetail_internal("%s", detail),
		 errhint(
			 "Restore the row of profstore.stack_chunks from a backup. If there is none, keep a copy of it elsewhere before you delete it: stacks with nodes in it are lost then.")));
}

static inline uint64
get_varint(Cursor *cursor)
{
	uint64 value = 0;

	for (int shift = 0; shift < 64; shift += 7)
	{
		uint8 byte;

		if (cursor->at == cursor->end)
			chunk_raise_corrupt(cursor->row, "A number runs past the end of its part.");
		byte = *cursor->at++;
		value |= (uint64) (byte & 0x7f) << shift;
		/* The top bit is clear in the last byte. */
		if (byte < 0x80)
			return value;
	}
	chunk_raise_corrupt(cursor->row, "A number has too many bytes.");
}

void
pfs_chunk_nodes_reserve(PfsChunkNodes *nodes, uint32 capacity)
{
	if (nodes->capacity >= capacity)
		return;
	/* The contents are not kept: each chunk fills the arrays anew. */
	if (nodes->capacity > 0)
	{
		pfree(nodes->numbers);
		pfree(nodes->distances);
		pfree(nodes->parents);
		pfree(nodes->locations);
	}
	nodes->numbers = palloc(capacity * sizeof(int64));
	nodes->distances = palloc(capacity * sizeof(uint32));
	nodes->parents = palloc(capacity * sizeof(int64));
	nodes->locations = palloc(capacity * sizeof(int32));
	nodes->capacity = capacity;
}

/* Writes ascending numbers as runs: the gap before a run, and its length. */
static uint8 *
put_runs(uint8 *at, const PfsChunkNodes *nodes)
{
	int64 expected = nodes->numbers[0];

	for (uint32 i = 0; i < nodes->node_count;)
	{
		int64 first = nodes->numbers[i];
		uint32 length = 1;

		while (i + length < nodes->node_count && nodes->numbers[i + length] == first + length)
			length++;
		/* Numbers ascend, so the gap is not negative. */
		at = bytes_put_varint(at, (uint64) (first - expected));
		at = bytes_put_varint(at, length);
		expected = first + length;
		i += length;
	}
	return at;
}

static uint8 *
put_externals(uint8 *at, const PfsChunkNodes *nodes)
{
	int64 previous = nodes->numbers[0];

	for (uint32 i = 0; i < nodes->node_count; i++)
	{
		/* The parent is in the chunk, and its distance was written before. */
		if (nodes->distances[i] != 0)
			continue;
		at = bytes_put_varint(at, pfs_zigzag(nodes->parents[i] - previous));
		previous = nodes->parents[i];
	}
	return at;
}

static uint8 *
bytes_put_locations(uint8 *at, const PfsChunkNodes *nodes)
{
	int64 previous = 0;

	for (uint32 i = 0; i < nodes->node_count; i++)
	{
		at = bytes_put_varint(at, pfs_zigzag(nodes->locations[i] - previous));
		previous = nodes->locations[i];
	}
	return at;
}

/* Writes the body as chunk_format.h describes it, uncompressed. */
static size_t
put_body(uint8 *body, const PfsChunkNodes *nodes)
{
	/*
	 * The lengths of the parts come first in the body and are known last, so the parts are written
	 * aside.
	 */
	uint8 *parts = palloc(nodes->node_count * (size_t) PFS_CHUNK_MAX_NODE_BYTES);
	uint8 *runs_end = put_runs(parts, nodes);
	uint8 *parents_end = runs_end;
	uint8 *externals_end;
	uint8 *end;
	uint8 *at;

	for (uint32 i = 0; i < nodes->node_count; i++)
		parents_end = bytes_put_varint(parents_end, nodes->distances[i]);
	externals_end = put_externals(parents_end, nodes);
	end = bytes_put_locations(externals_end, nodes);

	at = bytes_put_varint(body, (uint64) (runs_end - parts));
	at = bytes_put_varint(at, (uint64) (parents_end - runs_end));
	at = bytes_put_varint(at, (uint64) (externals_end - parents_end));
	memcpy(at, parts, (size_t) (end - parts));
	at += end - parts;
	pfree(parts);
	return (size_t) (at - body);
}

static pg_crc32c
chunk_crc(const uint8 *header, const uint8 *body, size_t body_length)
{
	pg_crc32c crc;

	INIT_CRC32C(crc);
	COMP_CRC32C(crc, header, PFS_CHUNK_HEADER_SIZE - 4);
	COMP_CRC32C(crc, body, body_length);
	FIN_CRC32C(crc);
	return crc;
}

bytea *
pfs_chunk_encode(const PfsChunkNodes *nodes)
{
	uint8 *body;
	size_t body_length;
	size_t stored_length;
	uint8 flags = 0;
	bytea *payload;
	uint8 *header;

	Assert(nodes->node_count >= 1 && nodes->node_count <= PFS_CHUNK_MAX_NODES);
	body = palloc(3 * 10 + nodes->node_count * (size_t) PFS_CHUNK_MAX_NODE_BYTES);
	body_length = stored_length = put_body(body, nodes);

	payload = palloc(VARHDRSZ + PFS_CHUNK_HEADER_SIZE + body_length);
	header = (uint8 *) VARDATA(payload);
	if (body_length >= MIN_COMPRESSED_BODY)
	{
		/*
		 * With room for nine tenths only, a body that saves less fails to compress and is stored as
		 * it is.
		 */
		size_t compressed = ZSTD_compress(header + PFS_CHUNK_HEADER_SIZE, body_length / 10 * 9,
										  body, body_length, COMPRESSION_LEVEL);

		if (!ZSTD_isError(compressed))
		{
			stored_length = compressed;
			flags = PFS_CHUNK_FLAG_ZSTD;
		}
	}
	if (flags == 0)
		memcpy(header + PFS_CHUNK_HEADER_SIZE, body, body_length);
	pfree(body);

	/* Reserved bytes must be 0. */
	memset(header, 0, PFS_CHUNK_HEADER_SIZE);
	header[0] = PFS_CHUNK_VERSION;
	header[1] = flags;
	pfs_store32(header + 4, (uint32) body_length);
	pfs_store32(header + 8, nodes->node_count);
	/* The checksum covers the header before it, and the body as it is stored. */
	pfs_store32(header + 12, chunk_crc(header, header + PFS_CHUNK_HEADER_SIZE, stored_length));
	SET_VARSIZE(payload, VARHDRSZ + PFS_CHUNK_HEADER_SIZE + stored_length);
	return payload;
}

/*
 * Decodes the numbers of the nodes, which are stored as runs: the gap before a run, and its length.
 */
static void
bytes_get_numbers(Cursor *cursor, PfsChunkNodes *nodes)
{
	const PfsChunkRow *row = cursor->row;
	uint64 next = (uint64) row->first_node;
	uint32 filled = 0;

	while (filled < nodes->node_count)
	{
		uint64 gap = get_varint(cursor);
		uint64 length = get_varint(cursor);

		/* length is checked against the nodes left before the numbers are written */
		if (length == 0 || length > nodes->node_count - filled || next > (uint64) row->last_node ||
			gap > (uint64) row->last_node - next ||
			length - 1 > (uint64) row->last_node - next - gap)
			chunk_raise_corrupt(row, "A run of node numbers does not fit.");
		next += gap;
		for (uint64 i = 0; i < length; i++)
			nodes->numbers[filled++] = (int64) next++;
	}
	if (cursor->at != cursor->end || nodes->numbers[0] != row->first_node ||
		nodes->numbers[filled - 1] != row->last_node)
		chunk_raise_corrupt(row, "The node numbers are not those of the row.");
}

/*
 * Decodes the parents. A parent in the chunk is stored as its distance before the child, a parent
 * outside as distance 0 and the difference from the previous such parent.
 */
static void
get_parents(Cursor *distances, Cursor *externals, PfsChunkNodes *nodes)
{
	const PfsChunkRow *row = distances->row;
	int64 previous = row->first_node;

	for (uint32 i = 0; i < nodes->node_count; i++)
	{
		uint64 distance = get_varint(distances);

		/* a parent comes before its child, so the distance is less than the child's position */
		if (distance > i)
			chunk_raise_corrupt(row, "A parent lies before the first node.");
		nodes->distances[i] = (uint32) distance;
		if (distance > 0)
			nodes->parents[i] = nodes->numbers[i - distance];
		else
		{
			previous = (int64) ((uint64) previous + (uint64) pfs_unzigzag(get_varint(externals)));
			if (previous < 0 || previous >= nodes->numbers[i])
				chunk_raise_corrupt(row, "A parent's number is not less than its child's.");
			nodes->parents[i] = previous;
		}
	}
	if (distances->at != distances->end || externals->at != externals->end)
		chunk_raise_corrupt(row, "There are bytes left after the last parent.");
}

static void
get_locations(Cursor *cursor, PfsChunkNodes *nodes)
{
	int64 previous = 0;

	for (uint32 i = 0; i < nodes->node_count; i++)
	{
		previous = (int64) ((uint64) previous + (uint64) pfs_unzigzag(get_varint(cursor)));
		if (previous <= 0 || previous > PG_INT32_MAX)
			chunk_raise_corrupt(cursor->row, "A location id is out of range.");
		nodes->locations[i] = (int32) previous;
	}
	if (cursor->at != cursor->end)
		chunk_raise_corrupt(cursor->row, "There are bytes left after the last location.");
}

/* Takes a part of length bytes from the start of the rest. */
static Cursor
take_part(Cursor *rest, uint64 length)
{
	Cursor part = *rest;

	if (length > (uint64) (rest->end - rest->at))
		chunk_raise_corrupt(rest->row, "A part is longer than the body.");
	part.end = part.at + length;
	rest->at = part.end;
	return part;
}

static void
get_body(const PfsChunkRow *row, const uint8 *body, size_t length, PfsChunkNodes *nodes)
{
	Cursor rest = { body, body + length, row };
	uint64 run_bytes = get_varint(&rest);
	uint64 parent_bytes = get_varint(&rest);
	uint64 external_bytes = get_varint(&rest);
	Cursor runs = take_part(&rest, run_bytes);
	Cursor parents = take_part(&rest, parent_bytes);
	Cursor externals = take_part(&rest, external_bytes);

	bytes_get_numbers(&runs, nodes);
	get_parents(&parents, &externals, nodes);
	get_locations(&rest, nodes);
}

void
pfs_chunk_decode(const PfsChunkRow *row, const struct varlena *payload, PfsChunkNodes *nodes)
{
	const uint8 *header = (const uint8 *) VARDATA_ANY(payload);
	const uint8 *stored = header + PFS_CHUNK_HEADER_SIZE;
	size_t stored_length;
	size_t body_length;
	uint8 *body;

	if (VARSIZE_ANY_EXHDR(payload) < PFS_CHUNK_HEADER_SIZE)
		chunk_raise_corrupt(row, "It is shorter than its header.");
	stored_length = VARSIZE_ANY_EXHDR(payload) - PFS_CHUNK_HEADER_SIZE;
	if (pfs_load32(header + 12) != chunk_crc(header, stored, stored_length))
		chunk_raise_corrupt(row, "The checksum does not match.");
	/* The checksum is right, so another version is a newer one, and no damage. */
	if (header[0] != PFS_CHUNK_VERSION)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("stack chunk has format version %d, and this release reads version %d",
						header[0], PFS_CHUNK_VERSION),
				 errhint("Install a newer release of profstore.")));

	if ((header[1] & ~PFS_CHUNK_FLAG_ZSTD) != 0 || header[2] != 0 || header[3] != 0)
		chunk_raise_corrupt(row, "A reserved bit is set.");
	body_length = pfs_load32(header + 4);
	nodes->node_count = pfs_load32(header + 8);
	/* These checks bound the memory that is allocated below. */
	if (nodes->node_count < 1 || nodes->node_count > PFS_CHUNK_MAX_NODES ||
		nodes->node_count != (uint32) row->node_count || body_length > PFS_CHUNK_MAX_BODY ||
		row->first_node < 1 || row->last_node < row->first_node ||
		row->last_node >> PFS_NODE_BITS != 0)
		chunk_raise_corrupt(row, "The number of nodes or bytes is out of range.");

	if ((header[1] & PFS_CHUNK_FLAG_ZSTD) == 0)
	{
		if (stored_length != body_length)
			chunk_raise_corrupt(row, "The length of the body does not match the header.");
		get_body(row, stored, stored_length, nodes);
		return;
	}
	body = palloc(body_length);
	/* An error code of zstd differs from every length, too. */
	if (ZSTD_decompress(body, body_length, stored, stored_length) != body_length)
		chunk_raise_corrupt(row, "The body cannot be decompressed.");
	get_body(row, body, body_length, nodes);
	pfree(body);
}
