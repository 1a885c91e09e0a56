/*
 * call.c
 *		Reads the headers that matter, and formats answers as google.rpc.Status.
 */
#include "http_server/call.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/param.h>

#include "base/json.h"
#include "base/utf8.h"
#include "http_server/protobuf.h"
#include "metrics/metrics_text.h"

#define AUTHORIZATION_MAX	   4096
#define TIMEOUT_DIGITS		   8
#define CONNECT_TIMEOUT_DIGITS 10

#define RETRY_INFO "type.googleapis.com/google.rpc.RetryInfo"

Call *
call_create(void)
{
	Call *call = calloc(1, sizeof(Call));

	/* UINT64_MAX means that the length of the body is not known. */
	if (call != NULL)
		call->length = UINT64_MAX;
	return call;
}

void
call_free(Call *call)
{
	if (call == NULL)
		return;
	call_drop_authorization(call);
	call_drop_query(call);
	call_drop_body(call);
	buffer_fini(&call->part);
	buffer_fini(&call->held);
	buffer_fini(&call->answer.body);
	free(call);
}

void
call_drop_authorization(Call *call)
{
	free(call->authorization);
	call->authorization = NULL;
}

void
call_drop_query(Call *call)
{
	free(call->query);
	call->query = NULL;
}

void
call_drop_body(Call *call)
{
	free(call->body);
	free(call->first);
	call->body = call->first = NULL;
	call->body_length = call->body_capacity = call->first_length = 0;
}

void
call_fail(Call *call, GrpcCode code, const char *text)
{
	/* A decoder may have begun the body of a successful answer. */
	buffer_reset(&call->answer.body);
	call->answer.code = code;
	call->answer.http_status = 0;
	call->answer.text = text;
	call->answer.retry_s = 0;
}

void
call_retry(Call *call, const char *text, int retry_s)
{
	call_fail(call, GRPC_UNAVAILABLE, text);
	call->answer.retry_s = retry_s;
}

void
call_fail_with(Call *call, GrpcCode code, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(call->answer.text_room, sizeof(call->answer.text_room), format, arguments);
	va_end(arguments);
	call_fail(call, code, call->answer.text_room);
}

int
call_http_status(const Call *call)
{
	/* Some statuses, such as 429, have no code of gRPC. */
	if (call->answer.http_status != 0)
		return call->answer.http_status;
	switch (call->answer.code)
	{
		case GRPC_OK:
			return 200;
		case GRPC_INVALID_ARGUMENT:
			return 400;
		case GRPC_UNAUTHENTICATED:
			return 401;
		case GRPC_PERMISSION_DENIED:
			return 403;
		case GRPC_NOT_FOUND:
			return 404;
		/*
		 * Connect defines this status for the code; other clients expect 404 for an unknown path.
		 */
		case GRPC_UNIMPLEMENTED:
			return call->is_connect ? 501 : 404;
		case GRPC_ALREADY_EXISTS:
			return 409;
		case GRPC_FAILED_PRECONDITION:
			return 412;
		case GRPC_RESOURCE_EXHAUSTED:
			return 413;
		case GRPC_DEADLINE_EXCEEDED:
			return call->is_connect ? 504 : 503;
		case GRPC_UNAVAILABLE:
			return 503;
		case GRPC_INTERNAL:
			break;
	}
	return 500;
}

/* --- headers --- */

static bool
is_token(const char *value, size_t length, const char *token)
{
	return strlen(token) == length && strncasecmp(value, token, length) == 0;
}

/* Returns the content type, ignoring its parameters. */
static CallContent
content_of(const char *value, size_t length)
{
	size_t end = 0;

	while (end < length && value[end] != ';' && value[end] != ' ')
		end++;
	if (is_token(value, end, "application/grpc") || is_token(value, end, "application/grpc+proto"))
		return CONTENT_GRPC;
	if (is_token(value, end, "application/x-protobuf") || is_token(value, end, "application/proto"))
		return CONTENT_PROTOBUF;
	return is_token(value, end, "application/json") ? CONTENT_JSON : CONTENT_OTHER;
}

static CallEncoding
encoding_of(const char *value, size_t length)
{
	if (length == 0 || is_token(value, length, "identity"))
		return ENCODING_IDENTITY;
	if (is_token(value, length, "gzip"))
		return ENCODING_GZIP;
	return is_token(value, length, "zstd") ? ENCODING_ZSTD : ENCODING_UNKNOWN;
}

/* Parses a timeout of at most eight digits and a unit. Returns 0 if it is malformed. */
static int64_t
timeout_of(const char *value, size_t length)
{
	static const struct
	{
		char unit;
		int64_t ns;
	} units[] = { { 'H', INT64_C(3600000000000) },
				  { 'M', INT64_C(60000000000) },
				  { 'S', 1000000000 },
				  { 'm', 1000000 },
				  { 'u', 1000 },
				  { 'n', 1 } };
	int64_t number = 0;

	if (length < 2 || length > TIMEOUT_DIGITS + 1)
		return 0;
	for (size_t i = 0; i + 1 < length; i++)
	{
		if (value[i] < '0' || value[i] > '9')
			return 0;
		number = number * 10 + (value[i] - '0');
	}
	/* The largest timeout of gRPC, 99999999 hours, does not fit 64 bits of nanoseconds. */
	for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++)
		if (units[i].unit == value[length - 1])
			return number > INT64_MAX / units[i].ns ? 0 : number * units[i].ns;
	return 0;
}

/* Parses Connect's timeout of at most ten digits. Returns 0 if it is malformed. */
static int64_t
milliseconds_of(const char *value, size_t length)
{
	int64_t number = 0;

	if (length > CONNECT_TIMEOUT_DIGITS)
		return 0;
	for (size_t i = 0; i < length; i++)
	{
		if (value[i] < '0' || value[i] > '9')
			return 0;
		number = number * 10 + (value[i] - '0');
	}
	/* The caller converts the result to nanoseconds. */
	return MIN(number, INT64_MAX / 1000000);
}

static bool
call_copy_text(char *to, size_t room, const char *value, size_t length)
{
	/* A zero byte would end the text, so that two different values would be equal. */
	if (length >= room || memchr(value, '\0', length) != NULL)
		return false;
	memcpy(to, value, length);
	to[length] = '\0';
	return true;
}

static bool
length_of(Call *call, const char *value, size_t length)
{
	uint64_t number = 0;

	/* A number of 18 digits fits 64 bits. */
	if (length == 0 || length > 18)
		return false;
	for (size_t i = 0; i < length; i++)
	{
		if (value[i] < '0' || value[i] > '9')
			return false;
		number = number * 10 + (uint64_t) (value[i] - '0');
	}
	/* With two different lengths, a proxy could see other requests than this server. */
	if (call->length != UINT64_MAX && call->length != number)
		return false;
	call->length = number;
	return true;
}

/*
 * Takes path and query string. Some clients join an address that ends in "/" and a path, which then
 * begins with "//".
 */
static bool
call_take_path(Call *call, const char *value, size_t length)
{
	size_t end = 0;

	for (; length >= 2 && value[0] == '/' && value[1] == '/'; length--)
		value++;
	while (end < length && value[end] != '?')
		end++;
	call->has_path = true;
	if (end < length && call->query == NULL)
	{
		call->query = strndup(value + end + 1, length - end - 1);
		if (call->query == NULL)
			return false;
	}
	return call_copy_text(call->path, sizeof(call->path), value, end);
}

/*
 * Stores the key of Datadog's clients as a bearer token. If the header "authorization" is present,
 * it is used instead.
 */
static bool
call_take_key(Call *call, const char *value, size_t length)
{
	static const char scheme[] = "Bearer ";
	const size_t before = sizeof(scheme) - 1;

	if (call->has_key_only || length > AUTHORIZATION_MAX)
		return false;
	if (call->authorization != NULL)
		return true;
	call->has_key_only = true;
	call->authorization = calloc(1, before + length + 1);
	if (call->authorization == NULL)
		return false;
	memcpy(call->authorization, scheme, before);
	memcpy(call->authorization + before, value, length);
	return true;
}

bool
call_header(Call *call, const char *name, size_t name_length, const char *value, size_t length)
{
	if (is_token(name, name_length, ":method"))
		return call_copy_text(call->method, sizeof(call->method), value, length);
	if (is_token(name, name_length, ":path"))
		return call_take_path(call, value, length);
	if (is_token(name, name_length, "content-type"))
	{
		call->content = content_of(value, length);
		/* The parameters of the content type contain the boundary of a multipart body. */
		return call_copy_text(call->content_type, sizeof(call->content_type), value,
							  length < CALL_TYPE_MAX ? length : CALL_TYPE_MAX - 1);
	}
	/* Otherwise a client's second header could replace that of a trusted proxy. */
	if (is_token(name, name_length, "x-scope-orgid"))
		return call->scope[0] == '\0' && utf8_valid_bytes(value, length) &&
			   call_copy_text(call->scope, sizeof(call->scope), value, length);
	if (is_token(name, name_length, "x-alloy-id"))
		return call_copy_text(call->alloy_id, sizeof(call->alloy_id), value,
							  length < sizeof(call->alloy_id) ? length
															  : sizeof(call->alloy_id) - 1);
	if (is_token(name, name_length, "grpc-encoding") ||
		is_token(name, name_length, "content-encoding"))
	{
		call->encoding = encoding_of(value, length);
		call->has_encoding = true;
	}
	else if (is_token(name, name_length, "grpc-timeout"))
		call->timeout_ns = timeout_of(value, length);
	else if (is_token(name, name_length, "connect-timeout-ms"))
		call->timeout_ns = milliseconds_of(value, length) * 1000000;
	else if (is_token(name, name_length, "content-length"))
		return length_of(call, value, length);
	else if (is_token(name, name_length, "dd-api-key"))
		return call_take_key(call, value, length);
	else if (is_token(name, name_length, "accept"))
		call->accepts_open |= metrics_accepts_open(value, length);
	else if (is_token(name, name_length, "authorization"))
	{
		if ((call->authorization != NULL && !call->has_key_only) || length > AUTHORIZATION_MAX)
			return false;
		free(call->authorization);
		call->has_key_only = false;
		call->authorization = strndup(value, length);
		return call->authorization != NULL;
	}
	return true;
}

/* --- answers --- */

/* Appends Any{1 type_url, 2 value: RetryInfo{1 retry_delay: Duration{1 seconds}}}. */
static void
put_retry_info(Buffer *body, int retry_s)
{
	Buffer duration = { NULL };
	Buffer info = { NULL };
	Buffer any = { NULL };

	buffer_put_number(&duration, 1, (uint64_t) retry_s);
	buffer_put_field(&info, 1, duration.bytes, duration.length);
	buffer_put_field(&any, 1, RETRY_INFO, strlen(RETRY_INFO));
	buffer_put_field(&any, 2, info.bytes, info.length);
	buffer_put_field(body, 3, any.bytes, any.length);
	body->failed |= duration.failed || info.failed || any.failed;
	buffer_fini(&duration);
	buffer_fini(&info);
	buffer_fini(&any);
}

static void
put_json_text(Buffer *body, const char *text)
{
	char escape[JSON_ESCAPE_BYTES];

	for (; *text != '\0'; text++)
	{
		if (json_escape((unsigned char) *text, escape))
			buffer_put_bytes(body, escape, strlen(escape));
		else
			buffer_put_bytes(body, text, 1);
	}
}

static void
call_put_text(Buffer *body, const char *text)
{
	buffer_put_bytes(body, text, strlen(text));
}

void
call_status_body(const Call *call, Buffer *body)
{
	const Answer *answer = &call->answer;
	const char *text = answer->text != NULL ? answer->text : "";

	buffer_put_number(body, 1, (uint64_t) answer->code);
	buffer_put_field(body, 2, text, strlen(text));
	if (answer->retry_s > 0)
		put_retry_info(body, answer->retry_s);
}

static const char *
connect_code(GrpcCode code)
{
	switch (code)
	{
		case GRPC_INVALID_ARGUMENT:
			return "invalid_argument";
		case GRPC_DEADLINE_EXCEEDED:
			return "deadline_exceeded";
		case GRPC_NOT_FOUND:
			return "not_found";
		case GRPC_ALREADY_EXISTS:
			return "already_exists";
		case GRPC_PERMISSION_DENIED:
			return "permission_denied";
		case GRPC_RESOURCE_EXHAUSTED:
			return "resource_exhausted";
		case GRPC_FAILED_PRECONDITION:
			return "failed_precondition";
		case GRPC_UNIMPLEMENTED:
			return "unimplemented";
		case GRPC_UNAVAILABLE:
			return "unavailable";
		case GRPC_UNAUTHENTICATED:
			return "unauthenticated";
		case GRPC_OK:
		case GRPC_INTERNAL:
			break;
	}
	return "internal";
}

void
call_error_body(const Call *call, Buffer *body)
{
	const Answer *answer = &call->answer;
	char number[64];

	if (!call->is_connect && call->content != CONTENT_JSON)
	{
		call_status_body(call, body);
		return;
	}
	if (call->is_connect)
		snprintf(number, sizeof(number), "{\"code\":\"%s\",\"message\":\"",
				 connect_code(answer->code));
	else
		snprintf(number, sizeof(number), "{\"code\":%d,\"message\":\"", (int) answer->code);
	call_put_text(body, number);
	put_json_text(body, answer->text != NULL ? answer->text : "");
	call_put_text(body, "\"");
	if (answer->retry_s > 0 && !call->is_connect)
	{
		snprintf(number, sizeof(number), "\",\"retryDelay\":\"%ds\"}]", answer->retry_s);
		call_put_text(body, ",\"details\":[{\"@type\":\"" RETRY_INFO);
		call_put_text(body, number);
	}
	call_put_text(body, "}");
}

const char *
call_answer_type(const Call *call)
{
	const bool is_good = call->answer.code == GRPC_OK;

	if (call->answer.content != NULL && is_good)
		return call->answer.content;
	if (call->content == CONTENT_JSON || (call->is_connect && !is_good))
		return "application/json";
	return call->is_connect ? "application/proto" : "application/x-protobuf";
}
