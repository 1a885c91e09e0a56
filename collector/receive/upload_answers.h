/*
 * upload_answers.h
 *		Steps that both services for debug information share: Parca's and Pyroscope's.
 *
 * Every refusal is counted and logged. If a client may succeed later, its agents are asked to
 * retry: they ask again after five minutes. Agents never offer a declined file again.
 */
#ifndef COLLECTOR_UPLOAD_ANSWERS_H
#define COLLECTOR_UPLOAD_ANSWERS_H

#include "debuginfo/debug_upload.h"
#include "receive/receiver.h"

#define UPLOAD_NOT_ALLOWED	  "the file of tokens does not let this tenant upload debug information"
#define UPLOAD_UNDER_WAY_TEXT "an upload of this build is under way"

/*
 * Answers a question with "no", either for good or so that the agent asks again. Agents decide by
 * the reason that is sent, not by the log's.
 */
void upload_decline(Receiver *receiver, Call *call, const char *build_id, const char *reason);
void upload_put_off(Receiver *receiver, Call *call, const char *build_id, const char *reason);

/* Refuses a call. GRPC_FAILED_PRECONDITION and GRPC_UNAVAILABLE put the client off. */
void upload_refuse(Receiver *receiver, Call *call, const char *build_id, GrpcCode code,
				   const char *reason);

/* Refuses a call for an end that is not UPLOAD_OK. */
void upload_refuse_end(Receiver *receiver, Call *call, const char *build_id, UploadEnd end);

/* Returns NULL, or why such a file is never taken. */
const char *upload_unwanted(Receiver *receiver, const Call *call, const UploadQuestion *question);

/*
 * Asks the database for the debug information that is there already, of the tenant or of the role.
 * connection may be NULL, as for UploadJob.
 */
DebugState upload_state(Connection *connection, const char *tenant, const UploadQuestion *question);

/*
 * Appends the bytes of the call's body, a message of Parca's that was read before or with Connect
 * the body itself, to its upload; asks for more, or refuses; and gives the call back. A thread of
 * its own does so, because a disk may be slow, and workers decode the profiles of others.
 */
void upload_take(Receiver *receiver, Call *call);

/*
 * At the end of the bytes: checks the call's upload, stores it, and gives the call back. The answer
 * of gRPC is Parca's UploadResponse; that of HTTP is empty.
 */
void upload_store(Receiver *receiver, Call *call);

/* Answers whether the upload of a build was stored, and gives the call back. */
void upload_confirm(Receiver *receiver, Call *call);

#endif
