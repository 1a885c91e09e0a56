/*
 * upload_answers.h
 *		Steps that both services for debug information use: Parca's and Pyroscope's.
 *
 * Every refusal is counted and logged. If an upload may succeed later, the answer makes agents ask
 * again after five minutes. Agents never offer a declined file again.
 */
#ifndef COLLECTOR_UPLOAD_ANSWERS_H
#define COLLECTOR_UPLOAD_ANSWERS_H

#include "debuginfo/debug_upload.h"
#include "receive/receiver.h"

#define UPLOAD_NOT_ALLOWED	  "the file of tokens does not let this tenant upload debug information"
#define UPLOAD_UNDER_WAY_TEXT "an upload of this build is under way"

/*
 * Answers a question with "no", either forever or so that the agent asks again. Agents decide by
 * the reason that is sent; the reason in the log may be more precise.
 */
void upload_decline(Receiver *receiver, Call *call, const char *build_id, const char *reason);
void upload_put_off(Receiver *receiver, Call *call, const char *build_id, const char *reason);

/*
 * Refuses a call. After GRPC_FAILED_PRECONDITION and GRPC_UNAVAILABLE the client tries again later.
 */
void upload_refuse(Receiver *receiver, Call *call, const char *build_id, GrpcCode code,
				   const char *reason);

/* Refuses a call because of an UploadEnd other than UPLOAD_OK. */
void upload_refuse_end(Receiver *receiver, Call *call, const char *build_id, UploadEnd end);

/* Returns NULL if the file may be accepted, otherwise the reason why it never is. */
const char *upload_unwanted(Receiver *receiver, const Call *call, const UploadQuestion *question);

/*
 * Queries the database for the debug information that the tenant, or the role, has already.
 * connection may be NULL, as for UploadJob.
 */
DebugState upload_state(Connection *connection, const char *tenant, const UploadQuestion *question);

/*
 * Appends the bytes of the call's body to its upload: for Parca the message that was parsed before,
 * for Connect the body itself. Requests the next bytes, or refuses, and gives the call back. This
 * runs on a thread of its own, because a disk may be slow and workers decode other clients'
 * profiles.
 */
void upload_take(Receiver *receiver, Call *call);

/*
 * Ends an upload whose bytes have all arrived: checks it, stores it, and gives the call back. The
 * gRPC answer is Parca's UploadResponse; the HTTP answer is empty.
 */
void upload_store(Receiver *receiver, Call *call);

/* Answers whether the upload of a build was stored, and gives the call back. */
void upload_confirm(Receiver *receiver, Call *call);

#endif
