/*
 * call.h
 *		One request and its answer, for all protocols.
 *
 * The loop's thread creates and frees calls. In between a call has one owner at a time: the loop
 * while it arrives, a worker that decodes it, the writer that stores it, then the loop again, which
 * answers. Fields that only the loop may use are marked.
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
/* limit of the content type, whose boundary has at most 70 characters */
#define CALL_TYPE_MAX	160

/* The codes of gRPC that are used here. */
typedef enum GrpcCode
{
	GRPC_OK = 0,
	GRPC_INVALID_ARGUMENT = 3,
	GRPC_DEADLINE_EXCEEDED = 4,
	GRPC_NOT_FOUND = 5,
	GRPC_ALREADY_EXISTS = 6,
	GRPC_PERMISSION_DENIED = 7,
	GRPC_RESOURCE_EXHAUSTED = 8,
	GRPC_FAILED_PRECONDITION = 9,
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
	int http_status;  /* 0: the status follows from the code */
	const char *text; /* a literal, or in text_room; NULL: no text */
	char text_room[512];
	int retry_s;		 /* time after which the client should retry; 0: not stated */
	Buffer body;		 /* body of a good answer */
	const char *content; /* content type of the answer, if it differs from the request's */
} Answer;

typedef struct Service Service;
typedef struct Client Client;
typedef struct Host Host;

typedef struct Call Call;

/* Called when the call's batch is stored or has failed. */
typedef void (*CallStored)(Call *call, const BatchResult *result);

struct Call
{
	/* The fields up to unread belong to the loop. */
	struct Connection *connection; /* NULL: closed */
	struct Call *sibling;		   /* next call of the connection */
	int32_t stream;				   /* stream of HTTP/2 */
	size_t charged;				   /* bytes charged to memory */
	bool is_whole;				   /* the request is complete */
	bool is_refused;			   /* answered early; the rest of the request is discarded */
	bool is_away;				   /* a worker or the writer owns the call at present */
	/* CLOCK_MONOTONIC at arrival; if is_away, at the dispatch. */
	int64_t since_ns;
	size_t answer_at;  /* number of bytes of the body sent so far */
	uint8_t prefix[5]; /* prefix of a gRPC message */
	size_t prefix_length;
	Buffer part;	   /* exchange: the first answer, with its prefix */
	size_t part_at;	   /* number of bytes of part sent so far */
	bool is_answering; /* the headers of the answer were sent */
	bool has_surplus;  /* bytes arrived after the expected message */
	Buffer held;	   /* stream: bytes that arrived while a worker had the previous part */
	/* number of bytes by which the client's window is not extended until the worker is done */
	size_t unread;

	/* The fields up to accepts_open come from the request. */
	char method[CALL_METHOD_MAX];
	char path[CALL_PATH_MAX];
	CallContent content;
	CallEncoding encoding;
	bool has_encoding;
	bool is_compressed; /* set in the prefix of the message */
	bool has_path;
	bool is_connect;	 /* errors are those of the Connect protocol */
	uint64_t length;	 /* content length; UINT64_MAX: not announced */
	int64_t timeout_ns;	 /* grpc-timeout, or that of Connect; 0: no timeout */
	char *authorization; /* owned; NULL: absent */
	bool has_key_only;	 /* authorization comes from Datadog's header with the key */
	/* Owned; NULL: absent, or freed because the service does not use it. */
	char *query;
	char content_type[CALL_TYPE_MAX]; /* cut if longer */
	char scope[IDENTITY_TENANT_MAX];  /* header X-Scope-OrgID; "": absent */
	/* Id of an Alloy, which repeats failed requests; cut if longer; "": the client is no Alloy. */
	char alloy_id[CALL_TYPE_MAX];
	bool accepts_open; /* the header accept names OpenMetrics */
	const Service *service;
	Client *client;
	char tenant[IDENTITY_TENANT_MAX]; /* "": no tenant */
	bool may_upload;				  /* the file of tokens lets the tenant upload */
	uint8_t *body;					  /* owned */
	size_t body_length;
	size_t body_capacity;

	/* Set by the loop if the client disconnects while another thread owns the call. */
	atomic_bool is_unwanted;

	/* The fields below belong to the owner of the call. */
	struct Call *next; /* next in a queue */
	struct Host *host;
	MemoryShare *memory; /* memory budget of the worker that has the call */
	WorkLimit *limit;	 /* limit of CPU time of the worker that has the call */
	/* Exchange: the first message, owned; NULL: this message is the first one. */
	uint8_t *first;
	size_t first_length;
	struct StoreLine *line; /* valid while the call is being stored, as are the next eight fields */
	CallStored stored;
	struct ClientWork *storing; /* queue of the call's client */
	struct Batch *batch;		/* owned until it is given to the writer */
	size_t batch_bytes;
	/* the next step stores the stacks from here to step_end, or the whole batch */
	uint32_t step_first;
	uint32_t step_end;
	size_t step_cost;
	bool is_step;
	/* Stream: the client has ended it, and the body is empty. */
	bool is_end;
	bool wants_more; /* stream: the service does not answer yet, but needs the next part */
	uint64_t upload; /* stream: state of the service; 0: none */
	/* exchange: the answer is a message to which the client replies with a second message */
	bool wants_second;
	uint8_t digest[32];	 /* identity of the request's content */
	size_t answer_bytes; /* bytes of the answer that are charged until the call is freed */
	bool is_stored;		 /* samples are safe, even if the answer is an error about other ones */
	bool has_digest;
	Answer answer;
};

Call *call_create(void); /* Returns NULL if out of memory. */
void call_free(Call *call);

/* Frees the token of the request. */
void call_drop_authorization(Call *call);

/* Frees the query string. */
void call_drop_query(Call *call);

/* Frees the body. */
void call_drop_body(Call *call);

/* Sets an error as the answer. The text is static. */
void call_fail(Call *call, GrpcCode code, const char *text);

/* Sets an error that asks the client to retry after retry_s seconds. The text is static. */
void call_retry(Call *call, const char *text, int retry_s);

/* Sets an error with a formatted text as the answer. */
void call_fail_with(Call *call, GrpcCode code, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

int call_http_status(const Call *call);

/*
 * Stores a header of the request; its name is in lower case. Returns false, after setting the
 * answer, if its value is invalid.
 */
bool call_header(Call *call, const char *name, size_t name_length, const char *value,
				 size_t length);

/* Formats google.rpc.Status with RetryInfo in protobuf. For JSON use call_error_body(). */
void call_status_body(const Call *call, Buffer *body);

/* Formats the body of a refusal for HTTP: the status in protobuf or JSON, or Connect's error. */
void call_error_body(const Call *call, Buffer *body);

/* Returns the content type of the answer's body, for HTTP. */
const char *call_answer_type(const Call *call);

#endif
