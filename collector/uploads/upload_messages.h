/*
 * upload_messages.h
 *		Messages of the services for debug information: parca.debuginfo.v1alpha1 and
 *		debuginfo.v1alpha1 of Pyroscope.
 */
#ifndef COLLECTOR_UPLOAD_MESSAGES_H
#define COLLECTOR_UPLOAD_MESSAGES_H

#include <stdbool.h>
#include <stdint.h>

#include "database/wire.h"
#include "otlp/message.h"

#define UPLOAD_BUILD_ID_LEAST 8 /* bytes, like profstore.debuginfo */
#define UPLOAD_BUILD_ID_MOST  32
#define UPLOAD_ID_BYTES		  33 /* 32 hexadecimal digits */
#define UPLOAD_HASH_BYTES	  129
#define UPLOAD_NAME_BYTES	  256

/* Parca's agents compare this text exactly; after any other text they do not ask again. */
#define UPLOAD_IN_PROGRESS                                                                 \
	"A previous upload is still in-progress and not stale yet (only stale uploads can be " \
	"retried)."

/* Values of DebuginfoType and BuildIDType. */
#define UPLOAD_TYPE_EXECUTABLE 1 /* the highest number of an ELF type */
#define UPLOAD_IDS_GNU		   1 /* 0 means not stated; only tools of users send it */

typedef enum UploadMessage
{
	UPLOAD_SHOULD,
	UPLOAD_INITIATE,
	UPLOAD_INFO, /* the first message of Upload */
	UPLOAD_FINISHED,
	UPLOAD_FILE, /* Pyroscope's FileMetadata */
	UPLOAD_MESSAGES
} UploadMessage;

/* The fields of all messages. Fields that a message lacks are empty. */
typedef struct UploadQuestion
{
	char build_id[2 * UPLOAD_BUILD_ID_MOST + 1]; /* lower case */
	char upload_id[UPLOAD_ID_BYTES];
	char hash[UPLOAD_HASH_BYTES];
	char name[UPLOAD_NAME_BYTES];
	int64_t bytes;
	uint64_t type;
	uint64_t id_type;
	bool is_forced;
} UploadQuestion;

/*
 * Copies a build ID in lower case. Returns false if it is not the hexadecimal form of 8 to 32
 * bytes; so a path cannot be a build ID.
 */
bool upload_build_id(const char *text, size_t length, char build_id[2 * UPLOAD_BUILD_ID_MOST + 1]);

/* Reads a message. Returns NULL; the reason, a literal, if the message is refused. */
const char *upload_question_read(UploadMessage message, Span bytes, UploadQuestion *question);

/*
 * Reads a message of Upload: into *question if it is the first one, otherwise into *chunk. Returns
 * NULL; the reason if the message is refused.
 */
const char *upload_part_read(Span bytes, bool is_first, UploadQuestion *question, Span *chunk);

/* Append an answer to a message. */
void upload_put_should(Buffer *body, bool should, const char *reason);
void upload_put_instructions(Buffer *body, const UploadQuestion *question, const char *upload_id);
void upload_put_received(Buffer *body, const char *build_id, uint64_t bytes);

#endif
