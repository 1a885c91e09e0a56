/*
 * parca_upload.c
 *		Parca's DebuginfoService, which its agents and parca-debuginfo call: ShouldInitiateUpload,
 *		InitiateUpload, Upload (a stream of the file's bytes), MarkUploadFinished.
 *
 * After FAILED_PRECONDITION an agent asks again in five minutes; after ALREADY_EXISTS and
 * INVALID_ARGUMENT it never offers the file again.
 */
#include "base/clock.h"
#include "receive/services.h"
#include "receive/submit.h"
#include "receive/upload_answers.h"

#define FIRST_TIME                                                                            \
	"First time we see this Build ID, and it does not exist in debuginfod, therefore please " \
	"upload!"
#define EXISTS \
	"Debuginfo already exists and is not marked as invalid, therefore no new upload is needed."
#define POOR                                                                                \
	"Debuginfo already exists but is marked as invalid, therefore a new upload is needed. " \
	"Hash the debuginfo and initiate the upload."
#define EQUAL                                                                                    \
	"Debuginfo already exists and is marked as invalid, but the proposed hash is the same as "   \
	"the one already available, therefore the upload is not accepted as it would result in the " \
	"same invalid debuginfos."

/* Reads the message of a call. If that fails, gives the call back and returns false. */
static bool
parca_read_question(Receiver *receiver, Call *call, UploadMessage message, UploadQuestion *question,
					const char **text)
{
	if (submit_inflate(receiver, call))
	{
		*text = upload_question_read(message, (Span){ call->body, call->body_length }, question);
		return true;
	}
	host_give_back(&receiver->host, call);
	return false;
}

/* Answers from the state of the build's uploads in the database. */
static void
parca_answer_should(Receiver *receiver, Call *call, const UploadQuestion *question,
					DebugState state)
{
	switch (state)
	{
		case DEBUG_ABSENT:
			upload_put_should(&call->answer.body, true, FIRST_TIME);
			break;
		case DEBUG_POOR:
			upload_put_should(&call->answer.body, true, POOR);
			break;
		case DEBUG_EQUAL:
			metric_add(&receiver->metrics.uploads_known_total, 1);
			upload_put_should(&call->answer.body, false, EQUAL);
			break;
		case DEBUG_READY:
			metric_add(&receiver->metrics.uploads_known_total, 1);
			upload_put_should(&call->answer.body, false, EXISTS);
			break;
		case DEBUG_NOT_KNOWN:
			upload_put_off(receiver, call, question->build_id, "the database is not available");
			break;
	}
}

/*
 * An UploadJob. Reading the message again cannot fail, because parca_should_upload() has read it
 * before.
 */
static void
parca_should_job(void *context, Connection *connection, const DbError *away, Call *call)
{
	Receiver *receiver = context;
	UploadQuestion question;

	(void) upload_question_read(UPLOAD_SHOULD, (Span){ call->body, call->body_length }, &question);
	parca_answer_should(receiver, call, &question,
						upload_state(connection, call->tenant, &question));
	host_give_back(&receiver->host, call);
}

void
parca_should_upload(Host *host, Call *call)
{
	Receiver *receiver = receiver_of(host);
	UploadQuestion question;
	const char *text;

	if (!parca_read_question(receiver, call, UPLOAD_SHOULD, &question, &text))
		return;
	if (text == NULL)
		text = upload_unwanted(receiver, call, &question);
	if (text != NULL)
		upload_decline(receiver, call, question.build_id, text);
	else if (!call->may_upload)
		upload_put_off(receiver, call, question.build_id, UPLOAD_NOT_ALLOWED);
	else if (upload_slots_has(&receiver->uploads, call->tenant, question.build_id,
							  clock_ns(CLOCK_MONOTONIC)))
		upload_put_off(receiver, call, question.build_id, UPLOAD_UNDER_WAY_TEXT);
	else if (question.is_forced)
		upload_put_should(&call->answer.body, true, FIRST_TIME);
	else if (upload_line_put(&receiver->questions, call, parca_should_job))
		return;
	else
		upload_put_off(receiver, call, question.build_id,
					   "too many questions about uploads are queued");
	host_give_back(host, call);
}

/* Begins an upload, or refuses it because of the build's state in the database. */
static void
parca_answer_initiate(Receiver *receiver, Call *call, const UploadQuestion *question,
					  DebugState state)
{
	char upload_id[UPLOAD_ID_BYTES];
	UploadEnd end;

	if (state == DEBUG_NOT_KNOWN)
	{
		upload_refuse(receiver, call, question->build_id, GRPC_FAILED_PRECONDITION,
					  "the database is not available");
		return;
	}
	/* A forced upload replaces the stored file. */
	if (!question->is_forced && (state == DEBUG_READY || state == DEBUG_EQUAL))
	{
		metric_add(&receiver->metrics.uploads_known_total, 1);
		call_fail(call, GRPC_ALREADY_EXISTS, "debug information of this build exists already");
		return;
	}
	end = upload_slots_begin(&receiver->uploads, call->tenant, question, clock_ns(CLOCK_MONOTONIC),
							 upload_id);
	if (end == UPLOAD_OK)
		upload_put_instructions(&call->answer.body, question, upload_id);
	else
		upload_refuse_end(receiver, call, question->build_id, end);
}

/*
 * An UploadJob. Reading the message again cannot fail, because parca_initiate_upload() has read it
 * before.
 */
static void
parca_initiate_job(void *context, Connection *connection, const DbError *away, Call *call)
{
	Receiver *receiver = context;
	UploadQuestion question;

	(void) upload_question_read(UPLOAD_INITIATE, (Span){ call->body, call->body_length },
								&question);
	parca_answer_initiate(receiver, call, &question,
						  upload_state(connection, call->tenant, &question));
	host_give_back(&receiver->host, call);
}

void
parca_initiate_upload(Host *host, Call *call)
{
	Receiver *receiver = receiver_of(host);
	UploadQuestion question;
	const char *text;

	if (!parca_read_question(receiver, call, UPLOAD_INITIATE, &question, &text))
		return;
	if (text == NULL)
		text = upload_unwanted(receiver, call, &question);
	/* The size is needed to reserve space on the disk. */
	if (text == NULL && question.bytes <= 0)
		text = "the declared size is not positive";
	if (text != NULL)
		upload_refuse(receiver, call, question.build_id, GRPC_INVALID_ARGUMENT, text);
	else if (!call->may_upload)
		upload_refuse(receiver, call, question.build_id, GRPC_FAILED_PRECONDITION,
					  UPLOAD_NOT_ALLOWED);
	else if (upload_line_put(&receiver->questions, call, parca_initiate_job))
		return;
	else
		upload_refuse_end(receiver, call, question.build_id, UPLOAD_BUSY);
	host_give_back(host, call);
}

/* Takes the first message of a stream, which names an upload that was initiated. */
static void
parca_take_info(Receiver *receiver, Call *call, const UploadQuestion *question)
{
	if (!call->may_upload)
	{
		upload_refuse(receiver, call, question->build_id, GRPC_FAILED_PRECONDITION,
					  UPLOAD_NOT_ALLOWED);
		return;
	}
	call->upload = upload_slots_attach(&receiver->uploads, call->tenant, question->build_id,
									   question->upload_id, clock_ns(CLOCK_MONOTONIC));
	call->wants_more = call->upload != 0;
	if (call->upload == 0)
		upload_refuse_end(receiver, call, question->build_id, UPLOAD_UNKNOWN);
}

void
parca_upload(Host *host, Call *call)
{
	Receiver *receiver = receiver_of(host);
	UploadQuestion question = { "" };
	Span chunk;
	const char *text;

	if (call->is_end)
	{
		upload_store(receiver, call);
		return;
	}
	if (submit_inflate(receiver, call))
	{
		/* Only the first message of a stream names the upload. */
		text = upload_part_read((Span){ call->body, call->body_length }, call->upload == 0,
								&question, &chunk);
		if (text != NULL)
			upload_refuse(receiver, call, question.build_id, GRPC_INVALID_ARGUMENT, text);
		else if (call->upload == 0)
			parca_take_info(receiver, call, &question);
		else
		{
			upload_take(receiver, call);
			return;
		}
	}
	host_give_back(host, call);
}

void
parca_mark_finished(Host *host, Call *call)
{
	upload_confirm(receiver_of(host), call);
}
