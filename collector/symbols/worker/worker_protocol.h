/*
 * worker_protocol.h
 *		Messages between the symbolizer and its worker process, over a socket that keeps message
 *		boundaries.
 *
 * A worker that is ready to serve sends a greeting, a reply without request. Afterwards each
 * request has one reply. Both ends run the same program on one machine, so numbers have its byte
 * order. The worker reads hostile files, so the symbolizer checks every length of a reply.
 *
 *   request                 reply
 *   open: files, fds        0 and a line whose number is a set of flags; or -errno
 *   lookup: addresses       the frames of each, innermost first; -ESTALE: the binary is not open;
 *                           -ENOLINK and a line: the file of a split unit is wanted;
 *                           -ENOMEM and the frames: they are incomplete, because DWARF of the
 *                           address did not fit into memory
 *   split: its number, fd   0: the file is used if it has the split unit of that number
 *   checksum: CRC-32, fd    0, or -EBADMSG if the file has another checksum
 *   compare: fds            0, or -EBADMSG if their bytes differ
 *   load: fd                0 if the binary took its symbol table from the file; or -errno of
 *                           symbol_table_read()
 *   keep: fd                0 if the symbol table is in the file; -EALREADY, -ENOENT
 *   demangle: a name        a line with the name
 *
 * Between two replies the worker sends a WorkerNotice before it closes a file of a user-space file
 * system, which may wait for the server of that file system, and another notice after it.
 *
 * The addresses of a lookup follow the request, 8 bytes each; so does the name of a demangle
 * request, without NUL. The answers follow each other in one
 * message, in the order of the addresses: at least one, and fewer than addresses if the message is
 * full or time is up.
 *
 * The line of a split unit that is wanted has its ID in hexadecimal as name and the path of its
 * file as filename. Such an answer is the only one of its message.
 *
 *   answer  OFFSET          SIZE        DESCRIPTION
 *           0               12          WorkerReply
 *           12              20 * n      WorkerFrames
 *           12 + 20 * n     text_bytes  strings, each ended by NUL, at the offsets in the frames
 */
#ifndef COLLECTOR_WORKER_PROTOCOL_H
#define COLLECTOR_WORKER_PROTOCOL_H

#include <assert.h>
#include <stddef.h>
#include <stdint.h>

#include "symbols/worker/symbol_line.h"

#define WORKER_ARGUMENT		 "symbol-worker" /* argv[1] of a worker */
/* name of the worker's process, which its own samples have as label */
#define WORKER_NAME			 "profstore-sym"
/*
 * Environment variable of a worker. Its value is the number of bytes that the worker may allocate.
 */
#define WORKER_MARK			 "PROFSTORE_SYMBOL_WORKER"
/* limit for one address; middle frames of longer chains are dropped */
#define WORKER_FRAMES_MAX	 64
#define WORKER_FILES_MAX	 4	 /* limit of the descriptors of a request */
#define WORKER_ADDRESSES_MAX 64	 /* limit of the addresses in a lookup */
#define WORKER_NAME_BYTES	 512 /* limit of the name in a request to demangle */
/* Limit of a string in a reply, with its NUL; longer strings are cut. */
#define WORKER_STRING_MAX	 2048
/* limit of a message, which fits into the default buffer of a socket */
#define WORKER_MESSAGE_BYTES 98304

typedef enum WorkerRequestKind
{
	WORKER_OPEN = 1, /* has the binary's descriptor, and those that argument names */
	WORKER_LOOKUP,
	WORKER_CHECKSUM, /* carries the file's descriptor */
	WORKER_COMPARE,	 /* carries the descriptors of two files */
	WORKER_LOAD,	 /* carries the descriptor of a symbol table on disk */
	WORKER_KEEP,	 /* carries the descriptor of an empty file */
	/* carries the descriptor of a split unit's file; none if the file does not exist */
	WORKER_SPLIT,
	/* carries a name that belongs to no binary; binary is its hash */
	WORKER_DEMANGLE,
	WORKER_HELLO,	/* never sent: the symbolizer waits for the greeting */
	WORKER_CLOSING, /* never sent: the symbolizer waits for the notice of a closed file */
} WorkerRequestKind;

/* Flags in the argument of WORKER_OPEN. */
#define WORKER_WITH_DEBUG		1  /* the next descriptor is that of the separate debug file */
#define WORKER_WITH_ALTERNATIVE 2  /* the next descriptor is that of the supplement */
#define WORKER_WITH_PACKAGE		32 /* the last descriptor is that of the package */
#define WORKER_WITH_FILES		(WORKER_WITH_DEBUG | WORKER_WITH_ALTERNATIVE | WORKER_WITH_PACKAGE)
#define WORKER_NO_DWARF			4
#define WORKER_RAW_NAMES		8	/* names must not be demangled */
#define WORKER_WITH_IDENTITY	16	/* the worker must refuse a binary of another size or ctime */
#define WORKER_SIMPLE_NAMES		64	/* NAME_STYLE_SIMPLE */
#define WORKER_LINKAGE_NAMES	128 /* NAME_STYLE_NONE */

/* Flags in the line of a reply to WORKER_OPEN. */
#define WORKER_LEFT_OUT_DWARF 1 /* the debug information would take too much memory */
/* Closing the binary's files may wait for the server of a user-space file system. */
#define WORKER_MAY_HANG		  2

typedef struct WorkerRequest
{
	uint64_t kind;
	/* number of the binary: 4n, plus 1 without DWARF, plus 2 with raw names */
	uint64_t binary;
	/*
	 * number of addresses, CRC-32, number of the other binary, ID of a split unit, or the length of
	 * a name
	 */
	uint64_t argument;
	/*
	 * This and the next two describe the file of a checksum, or with WORKER_WITH_IDENTITY the
	 * binary.
	 */
	uint64_t size_bytes; /* of a request to demangle: the NameStyle */
	int64_t changed_s;
	int64_t changed_ns;
	uint64_t device; /* device of the file of a checksum; the worker reads neither this nor inode */
	uint64_t inode;
	uint64_t owners; /* owners of the file, in WORKER_OPEN only; see WorkerNotice */
} WorkerRequest;

typedef struct WorkerReply
{
	int32_t status; /* 0 or -errno */
	uint32_t frame_count;
	uint32_t text_bytes;
} WorkerReply;

#define WORKER_NOTICE 1 /* status that only notices have, no reply */

/* Notice about a file that the worker will close, with the owners for which it was opened. */
typedef struct WorkerNotice
{
	int32_t status;	 /* WORKER_NOTICE */
	uint32_t closes; /* 0: the file has been closed */
	uint64_t owners;
	uint64_t device;
} WorkerNotice;

typedef struct WorkerFrame
{
	uint32_t name; /* name, system_name and filename are offsets in the text */
	uint32_t system_name;
	uint32_t filename;
	int32_t start_line;
	int32_t line;
} WorkerFrame;

static_assert(sizeof(WorkerRequest) == 72, "requests have no padding");
static_assert(sizeof(WorkerNotice) == 24, "notices have no padding");
static_assert(sizeof(WorkerReply) == 12, "replies have no padding");
static_assert(sizeof(WorkerFrame) == 20, "frames have no padding");

/*
 * Writes a reply of at most WORKER_FRAMES_MAX lines into WORKER_MESSAGE_BYTES; cuts long strings.
 * Returns the size of the reply.
 */
size_t worker_reply_encode(void *message, int32_t status, const SymbolLine *lines, uint32_t count);

/*
 * Checks the reply at the beginning of a message, points lines (WORKER_FRAMES_MAX) into it and
 * returns its size in *reply_bytes. Returns the status of the reply; -EPROTO if the bytes do not
 * begin with a reply.
 */
int worker_reply_decode(void *message, size_t size_bytes, SymbolLine *lines, uint32_t *count,
						size_t *reply_bytes);

#endif
