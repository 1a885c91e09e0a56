/*
 * chunk_format.h
 *		Bytes of profstore.stack_chunks.payload: nodes of the stack tree, packed.
 *
 * Integers of the header are little-endian. The body is stored as it is or as one zstd frame,
 * whichever is clearly smaller. The checksum covers what is stored, so it is checked before
 * anything else is believed.
 *
 *	+--------+------------------------------------------------------------------+
 *	| header | body: lengths | runs | parents | externals | locations           |
 *	+--------+------------------------------------------------------------------+
 *
 *	OFFSET SIZE DESCRIPTION
 *	0      1    format version, PFS_CHUNK_VERSION
 *	1      1    flags: bit 0 = the body is a zstd frame; the others are 0
 *	2      2    0
 *	4      4    bytes of the body after decompression
 *	8      4    number of nodes, 1 .. PFS_CHUNK_MAX_NODES
 *	12     4    CRC-32C of bytes 0 .. 11 and of the stored body
 *	16          stored body
 *
 * The body is a sequence of varints (seven bits a byte, lowest first, top bit set on all but the
 * last byte). "Signed" ones are in zigzag form: 0, -1, 1, -2 … are 0, 1, 2, 3 …
 *
 *	PART      HOLDS
 *	lengths   bytes of runs, of parents, of externals; the locations take the rest
 *	runs      (gap, length) for each run of consecutive node numbers; the gap counts from the end
 *			  of the run before, for the first run from the row's first_node, where it is 0
 *	parents   for each node the distance back to its parent in this chunk, counted in nodes;
 *			  0: not in this chunk
 *	externals for each 0 in parents, signed: node number of the parent (0: the root) less that of
 *			  the external before, for the first one less first_node
 *	locations for each node, signed: location id less that of the node before, for the first one
 *			  less 0
 *
 * Nodes stand in ascending order of their numbers, and a parent's number is less than its
 * child's. A walk that adds a stack writes caller before callee, so nearly every distance is 1 and
 * compresses to nothing.
 *
 * Example, not compressed: nodes 65, 66 and 67 with locations 7, 9 and 8, where 65 hangs on the
 * root and the others on 65:
 *
 *	01 00 0000 | 0d000000 | 03000000 | crc | 02 03 02 | 00 03 | 00 01 02 | 81 01 | 0e 04 01
 */
#ifndef PFS_CHUNK_FORMAT_H
#define PFS_CHUNK_FORMAT_H

#define PFS_CHUNK_VERSION	  1
#define PFS_CHUNK_FLAG_ZSTD	  0x01
#define PFS_CHUNK_MAX_NODES	  65536
#define PFS_CHUNK_HEADER_SIZE 16

/* Longest varints of a node: length and gap of 64-bit numbers, distance, external, location. */
#define PFS_CHUNK_MAX_NODE_BYTES (10 + 10 + 5 + 10 + 5)
#define PFS_CHUNK_MAX_BODY		 (3 * 10 + (size_t) PFS_CHUNK_MAX_NODES * PFS_CHUNK_MAX_NODE_BYTES)

#endif
