/*
 * worker_protocol.h
 *		Messages between the symbolizer and its worker process, over a socket that keeps message
 *		boundaries.
 *
 * The worker greets as it begins to serve, with a reply to no request; then one request, one reply.
 * Both ends run the same program on the same machine, so numbers are in its
 * byte order; but the worker reads hostile files, so the symbolizer believes no length in a reply.
 *
 *		request					reply
 *		open: files, fds		0 and a line, whose number is a set of flags; or why not
 *		lookup: addresses		of each its frames, innermost first; -ESTALE: the binary is not open
 *								(any more)
 *		checksum: CRC-32, fd	0, or -EBADMSG where the file has another
 *		compare: fds			0, or -EBADMSG if their bytes differ
 *		load: fd				0 if the binary took its symbol table from the file; or why not
 *								(symbol_table_file.h)
 *		keep: fd				0 if its symbol table is in the file; -EALREADY, -ENOENT
 *
 * Between two replies the worker sends a WorkerNotice before it closes a file of a user-space file
 * system, which may wait for the server of that file system, and another notice after it.
 *
 * A lookup is followed by its addresses, 8 bytes each. Its answers follow each other in one
 * message, in the order of the addresses: at least one, and fewer than were asked for where they do
 * not fit or take long.
 *
 *		answer	OFFSET				SIZE		DESCRIPTION
 *				0					12			WorkerReply
 *				12					20 * n		WorkerFrames
 *				12 + 20 * n			text_bytes	strings, each ended by NUL, where frames tell
 */
#ifndef COLLECTOR_WORKER_PROTOCOL_H
#define COLLECTOR_WORKER_PROTOCOL_H

#include <assert.h>
#include <stddef.h>
#include <stdint.h>

#include "symbols/symbol_line.h"

#define WORKER_ARGUMENT		 "symbol-worker" /* argv[1] of a worker */
#define WORKER_NAME			 "profstore-sym" /* its comm, and so a label of its own samples */
/* in the environment of a worker; its value is the number of bytes that it may allocate */
#define WORKER_MARK			 "PROFSTORE_SYMBOL_WORKER"
#define WORKER_FRAMES_MAX	 64 /* of one address; the outermost and the innermost stay */
#define WORKER_FILES_MAX	 3	/* descriptors of a request */
#define WORKER_ADDRESSES_MAX 64 /* of a lookup */
/* bytes of a string in a reply, NUL included; longer ones are cut */
#define WORKER_STRING_MAX	 2048
#define WORKER_MESSAGE_BYTES 98304 /* of a whole message; fits into a socket's default buffer */

typedef enum WorkerRequestKind
{
	WORKER_OPEN = 1, /* carries the binary's descriptor, and those that argument tells */
	WORKER_LOOKUP,
	WORKER_CHECKSUM, /* carries the file's descriptor */
	WORKER_COMPARE,	 /* carries the descriptors of two files */
	WORKER_LOAD,	 /* carries the descriptor of a symbol table on disk */
	WORKER_KEEP,	 /* carries the descriptor of an empty file */
	WORKER_HELLO,	 /* never sent: stands for the greeting that is waited for */
	WORKER_CLOSING,	 /* never sent: stands for the notice that a file is closed */
} WorkerRequestKind;

/* Argument of WORKER_OPEN. */
#define WORKER_WITH_DEBUG		1 /* the separate debug file's descriptor is the next one */
#define WORKER_WITH_ALTERNATIVE 2 /* the supplement's is the last one */
#define WORKER_WITH_FILES		(WORKER_WITH_DEBUG | WORKER_WITH_ALTERNATIVE)
#define WORKER_NO_DWARF			4
#define WORKER_RAW_NAMES		8  /* not demangled */
#define WORKER_WITH_IDENTITY	16 /* the binary must have size and ctime as they are told */

/* In the line of an open's reply. */
#define WORKER_LEFT_OUT_DWARF 1 /* its debug information would take too much memory */
#define WORKER_MAY_HANG		  2 /* closing its files may wait for a program */

typedef struct WorkerRequest
{
	uint64_t kind;
	/* number by which open and lookup agree: 4n, one more without DWARF, two more with raw names */
	uint64_t binary;
	uint64_t argument;	 /* addresses that follow, CRC-32, number of the other file's binary */
	uint64_t size_bytes; /* with WORKER_WITH_IDENTITY, as the next two; of a checksum's file */
	int64_t changed_s;
	int64_t changed_ns;
	uint64_t device; /* of a checksum's file, as the next one; the worker does not read them */
	uint64_t inode;
	uint64_t owners; /* of an open: for the notice before the file is closed */
} WorkerRequest;

typedef struct WorkerReply
{
	int32_t status; /* 0 or -errno */
	uint32_t frame_count;
	uint32_t text_bytes;
} WorkerReply;

#define WORKER_NOTICE 1 /* the status that no reply has */

/* The file that the worker closes next, and the owners that it was opened for. */
typedef struct WorkerNotice
{
	int32_t status;	 /* WORKER_NOTICE */
	uint32_t closes; /* 0: the file is closed */
	uint64_t owners;
	uint64_t device;
} WorkerNotice;

typedef struct WorkerFrame
{
	uint32_t name; /* offsets in the text */
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
 * Writes a reply of at most WORKER_FRAMES_MAX lines into WORKER_MESSAGE_BYTES; returns its size.
 * Strings that are too long are cut.
 */
size_t worker_reply_encode(void *message, int32_t status, const SymbolLine *lines, uint32_t count);

/*
 * Checks the reply at the beginning of some bytes, points lines (WORKER_FRAMES_MAX) into it and
 * tells its size. The reply's status, -EPROTO where the bytes do not begin with a reply.
 */
int worker_reply_decode(void *message, size_t size_bytes, SymbolLine *lines, uint32_t *count,
						size_t *reply_bytes);

#endif
