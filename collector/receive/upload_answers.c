/*
 * upload_answers.c
 *		Refuses uploads, queries the database about them, and stores their files.
 */
#include "receive/upload_answers.h"

#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "debuginfo/debug_content.h"
#include "receive/services.h"
#include "receive/submit.h"

#define MODULE	"receive"
#define NOT_NOW "the database is not available"

static void
log_refusal(const Call *call, const char *build_id, const char *message, const char *reason)
{
	log_event(LOG_WARNING, MODULE, message, log_text("client", client_name(call->client)),
			  log_text("build_id", build_id), log_text("reason", reason));
}

void
upload_decline(Receiver *receiver, Call *call, const char *build_id, const char *reason)
{
	metric_add(&receiver->metrics.uploads_refused_total, 1);
	log_refusal(call, build_id, "declined debug information", reason);
	upload_put_should(&call->answer.body, false, reason);
}

void
upload_put_off(Receiver *receiver, Call *call, const char *build_id, const char *reason)
{
	metric_add(&receiver->metrics.uploads_put_off_total, 1);
	log_refusal(call, build_id, "put off an upload of debug information", reason);
	upload_put_should(&call->answer.body, false, UPLOAD_IN_PROGRESS);
}

void
upload_refuse(Receiver *receiver, Call *call, const char *build_id, GrpcCode code,
			  const char *reason)
{
	const bool is_later = code == GRPC_FAILED_PRECONDITION || code == GRPC_UNAVAILABLE;

	metric_add(is_later ? &receiver->metrics.uploads_put_off_total
						: &receiver->metrics.uploads_refused_total,
			   1);
	log_refusal(call, build_id,
				is_later ? "put off an upload of debug information"
						 : "refused an upload of debug information",
				reason);
	call_fail_with(call, code, "%s", reason);
}

void
upload_refuse_end(Receiver *receiver, Call *call, const char *build_id, UploadEnd end)
{
	static const struct
	{
		GrpcCode code;
		const char *reason;
	} ends[] = {
		[UPLOAD_UNDER_WAY] = { GRPC_FAILED_PRECONDITION, UPLOAD_UNDER_WAY_TEXT },
		[UPLOAD_BUSY] = { GRPC_FAILED_PRECONDITION,
						  "too many uploads are in progress, or they are too large together" },
		[UPLOAD_TOO_LARGE] = { GRPC_INVALID_ARGUMENT, "the file is larger than --max-upload" },
		[UPLOAD_UNKNOWN] = { GRPC_FAILED_PRECONDITION,
							 "no upload of this build was initiated, or it is stale" },
		[UPLOAD_LONGER] = { GRPC_INVALID_ARGUMENT, "the upload is longer than was declared" },
		[UPLOAD_SHORTER] = { GRPC_INVALID_ARGUMENT,
							 "the upload is empty or shorter than was declared" },
		[UPLOAD_NO_DISK] = { GRPC_UNAVAILABLE, "could not write to --upload-directory" },
	};

	upload_refuse(receiver, call, build_id, ends[end].code, ends[end].reason);
}

const char *
upload_unwanted(Receiver *receiver, const Call *call, const UploadQuestion *question)
{
	if (question->type > UPLOAD_TYPE_EXECUTABLE)
		return "only ELF files are accepted";
	if (question->id_type > UPLOAD_IDS_GNU)
		return "only files with a GNU build ID are accepted";
	return upload_slots_refused(&receiver->uploads, call->tenant, question)
			   ? "an earlier upload of this file contained no names of code"
			   : NULL;
}

DebugState
upload_state(Connection *connection, const char *tenant, const UploadQuestion *question)
{
	DebugState state = DEBUG_NOT_KNOWN;
	DbError error;

	if (connection != NULL && debug_upload_state(connection, question->build_id, tenant,
												 question->hash, &state, &error) != DB_OK)
		failure_log(&error.failure, MODULE);
	return state;
}

/* --- the bytes --- */

/* Frees the slot of a call at once, so that its client may begin another upload. */
static void
end_upload(Receiver *receiver, Call *call)
{
	upload_slots_end(&receiver->uploads, call->upload);
	call->upload = 0;
}

void
upload_left(Host *host, Call *call)
{
	end_upload(receiver_of(host), call);
}

/* Returns the bytes of the file in the current part of a stream, which was parsed before. */
static Span
bytes_of(const Call *call)
{
	Span bytes = { call->body, call->body_length };
	UploadQuestion question;

	/* Connect sends the bytes without a message around them. */
	if (!call->is_connect)
		(void) upload_part_read(bytes, false, &question, &bytes);
	return bytes;
}

/* An UploadJob that appends bytes to a file. */
static void
take_job(void *context, Connection *connection, const DbError *away, Call *call)
{
	Receiver *receiver = context;
	const UploadSlot *slot = upload_slots_get(&receiver->uploads, call->upload);
	const Span bytes = bytes_of(call);
	const UploadEnd end = upload_slots_write(&receiver->uploads, call->upload, bytes.bytes,
											 bytes.length, clock_ns(CLOCK_MONOTONIC));

	/* The loop reads the next part only after this one is written, which limits the memory. */
	call->wants_more = end == UPLOAD_OK;
	if (end == UPLOAD_OK)
		metric_add(&receiver->metrics.upload_bytes_total, bytes.length);
	else
	{
		/* The slot may have expired while the call was queued. */
		upload_refuse_end(receiver, call, slot != NULL ? slot->question.build_id : "", end);
		end_upload(receiver, call);
	}
	host_give_back(&receiver->host, call);
}

/* Queues a call for the thread of a line; if the line's queue is full, refuses the call. */
static void
put_or_refuse(Receiver *receiver, UploadLine *line, Call *call, UploadJob job)
{
	const UploadSlot *slot = upload_slots_get(&receiver->uploads, call->upload);

	if (upload_line_put(line, call, job))
		return;
	upload_refuse_end(receiver, call, slot != NULL ? slot->question.build_id : "", UPLOAD_BUSY);
	end_upload(receiver, call);
	host_give_back(&receiver->host, call);
}

void
upload_take(Receiver *receiver, Call *call)
{
	put_or_refuse(receiver, &receiver->spool, call, take_job);
}

/*
 * Returns NULL; the reason if the file cannot be used. The code that stores the file checks it
 * again.
 */
static const char *
check_content(const UploadSlot *slot, DebugContent *content)
{
	if (debug_content_read(slot->fd, content) != 0)
		return "the file is not an ELF file";
	if (content->build_id[0] == '\0')
		return "the file has no build ID";
	if (strcmp(content->build_id, slot->question.build_id) != 0)
		return "the file has another build ID";
	return content->has_names ? NULL : "the file has neither symbols nor debug information";
}

/*
 * Returns true if the content of a file can be used; otherwise refuses it. A file without names
 * must not be sent again, so it is remembered.
 */
static bool
is_usable(Receiver *receiver, Call *call, const UploadSlot *slot, DebugContent *content)
{
	const UploadEnd end = upload_slots_check(slot);
	const char *reason;

	if (end != UPLOAD_OK)
	{
		upload_refuse_end(receiver, call, slot->question.build_id, end);
		return false;
	}
	reason = check_content(slot, content);
	if (reason == NULL)
		return true;
	if (content->build_id[0] != '\0')
		upload_slots_refuse(&receiver->uploads, call->tenant, &slot->question);
	upload_refuse(receiver, call, slot->question.build_id, GRPC_INVALID_ARGUMENT, reason);
	return false;
}

/* Sets the answer of a stored upload. */
static void
answer_stored(Receiver *receiver, Call *call, const UploadSlot *slot, const DebugUpload *upload)
{
	metric_add(&receiver->metrics.uploads_stored_total, 1);
	log_event(LOG_INFO, MODULE,
			  upload->was_there ? "debug information exists already" : "stored debug information",
			  log_text("client", client_name(call->client)), log_text("build_id", upload->build_id),
			  log_number("bytes", upload->bytes), log_number("sent_bytes", upload->sent_bytes));
	if (call->content == CONTENT_GRPC)
		upload_put_received(&call->answer.body, slot->question.build_id, (uint64_t) slot->bytes);
}

/* An UploadJob that stores a file which was checked. */
static void
store_job(void *context, Connection *connection, const DbError *away, Call *call)
{
	Receiver *receiver = context;
	const UploadSlot *slot = upload_slots_get(&receiver->uploads, call->upload);
	char name[IDENTITY_TENANT_MAX + UPLOAD_NAME_BYTES + 2];
	DebugUpload upload = { .build_id = slot->question.build_id,
						   .name = name,
						   .tenant = call->tenant,
						   .hash = slot->question.hash };
	DebugContent content;
	DbOutcome outcome = DB_AWAY;
	DbError error = *away;

	snprintf(name, sizeof(name), "%s%s%s", call->tenant, slot->question.name[0] != '\0' ? ": " : "",
			 slot->question.name);
	/* The check ran in another thread, so the content is read again. */
	if (connection != NULL && debug_content_read(slot->fd, &content) == 0)
	{
		upload.has_lines = content.has_lines;
		outcome = debug_upload(connection, slot->fd, &upload, &error);
	}
	if (outcome == DB_OK)
		answer_stored(receiver, call, slot, &upload);
	else
	{
		failure_log(&error.failure, MODULE);
		upload_refuse(receiver, call, slot->question.build_id, GRPC_UNAVAILABLE,
					  error.failure.message);
	}
	end_upload(receiver, call);
	host_give_back(&receiver->host, call);
}

/* An UploadJob that checks a file whose bytes have all arrived. */
static void
check_job(void *context, Connection *connection, const DbError *away, Call *call)
{
	Receiver *receiver = context;
	const UploadSlot *slot = upload_slots_get(&receiver->uploads, call->upload);
	DebugContent content;

	/* The upload may have expired while the call was queued. */
	if (slot == NULL)
		upload_refuse_end(receiver, call, "", UPLOAD_UNKNOWN);
	else if (is_usable(receiver, call, slot, &content))
	{
		/* Storing a file takes long, so it has a thread of its own. */
		put_or_refuse(receiver, &receiver->stores, call, store_job);
		return;
	}
	end_upload(receiver, call);
	host_give_back(&receiver->host, call);
}

void
upload_store(Receiver *receiver, Call *call)
{
	put_or_refuse(receiver, &receiver->spool, call, check_job);
}

/* --- the end --- */

/* An UploadJob that answers whether the upload was stored. */
static void
confirm_job(void *context, Connection *connection, const DbError *away, Call *call)
{
	Receiver *receiver = context;
	UploadQuestion question;
	DebugState state = DEBUG_NOT_KNOWN;

	if (upload_question_read(UPLOAD_FINISHED, (Span){ call->body, call->body_length }, &question) ==
		NULL)
		state = upload_state(connection, call->tenant, &question);
	if (state == DEBUG_NOT_KNOWN)
		upload_refuse(receiver, call, question.build_id, GRPC_UNAVAILABLE, NOT_NOW);
	else if (state == DEBUG_ABSENT)
		upload_refuse(receiver, call, question.build_id, GRPC_NOT_FOUND,
					  "no upload of this build was stored");
	host_give_back(&receiver->host, call);
}

void
upload_confirm(Receiver *receiver, Call *call)
{
	UploadQuestion question = { "" };
	const char *text;

	if (!submit_inflate(receiver, call))
	{
		host_give_back(&receiver->host, call);
		return;
	}
	text =
		upload_question_read(UPLOAD_FINISHED, (Span){ call->body, call->body_length }, &question);
	if (text != NULL)
		upload_refuse(receiver, call, question.build_id, GRPC_INVALID_ARGUMENT, text);
	else if (!call->may_upload)
		upload_refuse(receiver, call, question.build_id, GRPC_FAILED_PRECONDITION,
					  UPLOAD_NOT_ALLOWED);
	else if (upload_slots_has(&receiver->uploads, call->tenant, question.build_id,
							  clock_ns(CLOCK_MONOTONIC)))
		upload_refuse_end(receiver, call, question.build_id, UPLOAD_UNDER_WAY);
	else if (upload_line_put(&receiver->questions, call, confirm_job))
		return;
	else
		upload_refuse_end(receiver, call, question.build_id, UPLOAD_BUSY);
	host_give_back(&receiver->host, call);
}
