/*
 * receiver.c
 *		Starts and ends the state that the services share.
 */
#include "receive/receiver.h"

ExitCode
receiver_init(Receiver *receiver, const ReceiveOptions *options, const ServiceTable *services,
			  Writer *writer, Failure *failure)
{
	ExitCode code;
	bool has_lines;

	*receiver = (Receiver){ .options = options, .rule = { options->drop } };
	repeats_init(&receiver->repeats);
	series_limit_init(&receiver->series);
	store_line_init(&receiver->line, writer, options->queue_bytes,
					options->host.acknowledge == ACKNOWLEDGE_SPOOL);
	upload_slots_init(&receiver->uploads, &options->uploads);
	code = host_init(&receiver->host, &options->host, services, writer, failure);
	/* All lines are started even if one fails, because receiver_fini() stops all of them. */
	has_lines = upload_line_start(&receiver->spool, NULL, receiver);
	has_lines = upload_line_start(&receiver->questions, options->database, receiver) && has_lines;
	has_lines = upload_line_start(&receiver->stores, options->database, receiver) && has_lines;
	if (code == EXIT_OK && !has_lines)
		code = failure_set(failure, EXIT_INTERNAL, "could not start a thread");
	return code;
}

void
receiver_fini(Receiver *receiver)
{
	upload_line_stop(&receiver->spool); /* stop it before stores, to which it passes calls */
	upload_line_stop(&receiver->questions);
	upload_line_stop(&receiver->stores);
	host_fini(&receiver->host);
	upload_slots_fini(&receiver->uploads);
	repeats_fini(&receiver->repeats);
	series_limit_fini(&receiver->series);
	store_line_fini(&receiver->line);
}

void
receiver_told(Host *host, Call *call)
{
	if (call->has_digest)
		repeats_told(&receiver_of(host)->repeats, call->digest);
}

/*
 * A client that was asked to retry will do so. A client that disconnected may later send another
 * profile with equal bytes, so its request is forgotten soon.
 */
void
receiver_left(Host *host, Call *call, int64_t now_ns)
{
	if (call->has_digest)
		repeats_expire(&receiver_of(host)->repeats, call->digest,
					   now_ns + (call->is_refused ? REPEATS_ASKED_NS : REPEATS_LEFT_NS));
}
