/*
 * connect_upload.c
 *		Pyroscope's DebuginfoService, which Alloy calls over Connect: ShouldInitiateUpload; a POST
 *		of the plain file to Upload/BUILD_ID; UploadFinished.
 *
 * If the answer to ShouldInitiateUpload is yes, the client begins the upload; its requests contain
 * neither an upload id nor a size.
 */
#include <string.h>

#include "base/clock.h"
#include "receive/services.h"
#include "receive/submit.h"
#include "receive/upload_answers.h"

#define FILE_FIELD 1 /* field of ShouldInitiateUploadRequest */

#define FIRST_TIME "First time we see this Build ID, therefore please upload!"
#define EXISTS \
	"Debuginfo already exists and is not marked as invalid, therefore no new upload is needed."

/* Reads ShouldInitiateUploadRequest. Returns NULL; the reason if the request is refused. */
static const char *
connect_read_file(const Call *call, UploadQuestion *question)
{
	Message message = message_of((Span){ call->body, call->body_length });
	Span file = { (const uint8_t *) "", 0 };

	*question = (UploadQuestion){ "" };
	while (message_next(&message))
		if (field_is_message(&message.field, FILE_FIELD))
			file = field_span(&message.field);
	return message.error != NULL ? message.error
								 : upload_question_read(UPLOAD_FILE, file, question);
}

/* Answers yes if the database lacks the file, or if the offered file is better. */
static void
connect_answer_should(Receiver *receiver, Call *call, const UploadQuestion *question,
					  DebugState state)
{
	char upload_id[UPLOAD_ID_BYTES];
	UploadEnd end;

	/* Only the database knows whether the file is wanted, so the client must ask again. */
	if (state == DEBUG_NOT_KNOWN)
	{
		upload_put_off(receiver, call, question->build_id, "the database is not available");
		return;
	}
	if (state == DEBUG_READY || state == DEBUG_EQUAL)
	{
		metric_add(&receiver->metrics.uploads_known_total, 1);
		upload_put_should(&call->answer.body, false, EXISTS);
		return;
	}
	/* The slot is taken now, because the upload itself names only the build ID. */
	end = upload_slots_begin(&receiver->uploads, call->tenant, question, clock_ns(CLOCK_MONOTONIC),
							 upload_id);
	if (end == UPLOAD_OK)
		upload_put_should(&call->answer.body, true, FIRST_TIME);
	else
		upload_put_off(receiver, call, question->build_id,
					   end == UPLOAD_UNDER_WAY
						   ? UPLOAD_UNDER_WAY_TEXT
						   : "too many uploads are in progress, or they are too large together");
}

/*
 * An UploadJob. Reading the message again cannot fail, because connect_should_upload() has read it
 * before.
 */
static void
connect_should_job(void *context, Connection *connection, const DbError *away, Call *call)
{
	Receiver *receiver = context;
	UploadQuestion question;

	(void) connect_read_file(call, &question);
	connect_answer_should(receiver, call, &question,
						  upload_state(connection, call->tenant, &question));
	host_give_back(&receiver->host, call);
}

void
connect_should_upload(Host *host, Call *call)
{
	Receiver *receiver = receiver_of(host);
	UploadQuestion question = { "" };
	const char *text = NULL;

	if (!submit_inflate(receiver, call))
	{
		host_give_back(host, call);
		return;
	}
	text = connect_read_file(call, &question);
	if (text == NULL)
		text = upload_unwanted(receiver, call, &question);
	if (text != NULL)
		upload_decline(receiver, call, question.build_id, text);
	else if (!call->may_upload)
		upload_put_off(receiver, call, question.build_id, UPLOAD_NOT_ALLOWED);
	else if (upload_line_put(&receiver->questions, call, connect_should_job))
		/* The job answers the call and gives it back. */
		return;
	else
		upload_put_off(receiver, call, question.build_id,
					   "too many questions about uploads are queued");
	host_give_back(host, call);
}

/* Finds the upload that the path names. Returns false after answering. */
static bool
connect_find_upload(Receiver *receiver, Call *call)
{
	const char *text = call->path + strlen(call->service->path);
	char build_id[2 * UPLOAD_BUILD_ID_MOST + 1] = "";

	if (!upload_build_id(text, strlen(text), build_id))
		upload_refuse(receiver, call, "", GRPC_INVALID_ARGUMENT,
					  "the path does not end in a build ID of 8 to 32 bytes");
	else if (call->encoding != ENCODING_IDENTITY)
		upload_refuse(receiver, call, build_id, GRPC_INVALID_ARGUMENT,
					  "an upload must not be compressed");
	else if (!call->may_upload)
		upload_refuse(receiver, call, build_id, GRPC_FAILED_PRECONDITION, UPLOAD_NOT_ALLOWED);
	else
	{
		call->upload = upload_slots_attach(&receiver->uploads, call->tenant, build_id, "",
										   clock_ns(CLOCK_MONOTONIC));
		if (call->upload == 0)
			upload_refuse_end(receiver, call, build_id, UPLOAD_UNKNOWN);
	}
	return call->upload != 0;
}

void
connect_upload(Host *host, Call *call)
{
	Receiver *receiver = receiver_of(host);

	/* The first part of a stream finds the upload, later parts know it. */
	if (call->upload == 0 && !connect_find_upload(receiver, call))
		host_give_back(host, call);
	else if (call->is_end)
		upload_store(receiver, call);
	else
		upload_take(receiver, call);
}

void
connect_upload_finished(Host *host, Call *call)
{
	upload_confirm(receiver_of(host), call);
}
