/*
 * call.h
 *		One request and its answer, whatever protocol it came by.
 *
 * The loop's thread makes and frees calls. In between a call belongs to one at a time: the loop
 * while it comes in, a worker that decodes it, the writer that stores it, the loop again that
 * answers. What is the loop's alone says so.
 */
#ifndef COLLECTOR_HTTP_SERVER_CALL_H
#define COLLECTOR_HTTP_SERVER_CALL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/memory_share.h"
#include "base/work_limit.h"
#include "database/wire.h"
#include "http_server/identity.h"
#include "writer/completion.h"

#define CALL_METHOD_MAX 16
#define CALL_PATH_MAX	256

/* Codes of gRPC that are used here. */
typedef enum GrpcCode
{
	GRPC_OK = 0,
	GRPC_INVALID_ARGUMENT = 3,
	GRPC_DEADLINE_EXCEEDED = 4,
	GRPC_NOT_FOUND = 5,
	GRPC_RESOURCE_EXHAUSTED = 8,
	GRPC_UNIMPLEMENTED = 12,
	GRPC_INTERNAL = 13,
	GRPC_UNAVAILABLE = 14,
	GRPC_UNAUTHENTICATED = 16
} GrpcCode;

typedef enum CallEncoding
{
	ENCODING_IDENTITY,
	ENCODING_GZIP,
	ENCODING_ZSTD,
	ENCODING_UNKNOWN
} CallEncoding;

typedef enum CallContent
{
	CONTENT_NONE,
	CONTENT_GRPC,
	CONTENT_PROTOBUF,
	CONTENT_JSON,
	CONTENT_OTHER
} CallContent;

typedef struct Answer
{
	GrpcCode code;
	int http_status;  /* 0: what the code means in HTTP */
	const char *text; /* static or in text_room; NULL: none */
	char text_room[512];
	int retry_s;		 /* come again after so long; 0: not said */
	Buffer body;		 /* of a good answer */
	const char *content; /* its type, where the request's is not the answer's */
} Answer;

typedef struct Service Service;
typedef struct Client Client;
typedef struct Host Host;

typedef struct Call Call;

/* Called with the end of a call's batch. */
typedef void (*CallStored)(Call *call, const BatchResult *result);

struct Call
{
	/* the loop's alone */
	struct Connection *connection; /* NULL: it went away */
	struct Call *sibling;		   /* of the connection's */
	int32_t stream;				   /* of HTTP/2 */
	size_t charged;				   /* to memory */
	bool is_whole;				   /* all of it came */
	bool is_refused;			   /* answered already; what still comes is not kept */
	bool is_away;				   /* with a worker or the writer */
	int64_t since_ns;			   /* when it came, CLOCK_MONOTONIC; away: when it was dispatched */
	size_t answer_at;			   /* bytes of the body that were sent */
	uint8_t prefix[5];			   /* of a gRPC message */
	size_t prefix_length;
	Buffer part;	   /* of an exchange: the message that was answered first, framed */
	size_t part_at;	   /* bytes of it that were sent */
	bool is_answering; /* headers of the answer were sent */
	bool has_surplus;  /* bytes came that nobody had asked for */

	/* as it came */
	char method[CALL_METHOD_MAX];
	char path[CALL_PATH_MAX];
	CallContent content;
	CallEncoding encoding;
	bool has_encoding;
	bool is_compressed; /* the message says so */
	bool has_path;
	uint64_t length;	 /* as announced, UINT64_MAX: not */
	int64_t timeout_ns;	 /* grpc-timeout; 0: none */
	char *authorization; /* owned; NULL: none */
	const Service *service;
	Client *client;
	char tenant[IDENTITY_TENANT_MAX]; /* "" where there are none */
	uint8_t *body;					  /* owned */
	size_t body_length;
	size_t body_capacity;

	/* set by the loop while a worker has the call: its client is gone */
	atomic_bool is_unwanted;

	/* whoever has it */
	struct Call *next; /* of a queue */
	struct Host *host;
	MemoryShare *memory; /* of the worker that has it */
	WorkLimit *limit;	 /* likewise */
	uint8_t *first;		 /* of an exchange: its first message, owned; NULL: it is this one */
	size_t first_length;
	struct StoreLine *line; /* while it is to be stored; so the next eight */
	CallStored stored;
	struct ClientWork *storing; /* of its client */
	struct Batch *batch;		/* owned, until the writer has it */
	size_t batch_bytes;
	uint32_t step_first; /* the step that is next: stacks from here to step_end, or the batch */
	uint32_t step_end;
	size_t step_cost;
	bool is_step;
	bool wants_second;	/* the answer is a message, after which the client's second comes */
	uint8_t digest[32]; /* of what it says */
	bool has_digest;
	Answer answer;
};

Call *call_create(void); /* NULL without memory */
void call_free(Call *call);

/* Frees the token of the request. */
void call_drop_authorization(Call *call);

/* What the client said goes. */
void call_drop_body(Call *call);

/* Sets an answer that is an error. The text is static. */
void call_fail(Call *call, GrpcCode code, const char *text);

/* Sets an error that asks the client to try again after retry_s seconds. The text is static. */
void call_retry(Call *call, const char *text, int retry_s);

/* Sets an answer that is an error, with a formatted text. */
void call_fail_with(Call *call, GrpcCode code, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

int call_http_status(const Call *call);

/*
 * A header of the request, in small letters. False where its value cannot be used, which is
 * answered then.
 */
bool call_header(Call *call, const char *name, size_t name_length, const char *value,
				 size_t length);

/* google.rpc.Status in protobuf or JSON, RetryInfo included. */
void call_status_body(const Call *call, bool json, Buffer *body);

/* Content type of the answer's body, over HTTP. */
const char *call_answer_type(const Call *call);

#endif
