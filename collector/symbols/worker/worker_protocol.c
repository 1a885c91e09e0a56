/*
 * worker_protocol.c
 *		Encodes and decodes the worker's replies.
 */
#include "symbols/worker/worker_protocol.h"

#include <errno.h>
#include <string.h>

/* Appends a string, cut to limit_bytes, and returns its offset. */
static uint32_t
protocol_put_string(char *text, uint32_t *text_bytes, const char *string, size_t limit_bytes)
{
	uint32_t offset = *text_bytes;
	size_t length = strnlen(string, limit_bytes - 1);

	memcpy(text + offset, string, length);
	text[offset + length] = '\0';
	*text_bytes += (uint32_t) length + 1;
	return offset;
}

/*
 * Returns the offset of a path. Inlined calls of one file have one path at one address, which is
 * written once.
 */
static uint32_t
protocol_put_path(char *text, uint32_t *text_bytes, const SymbolLine *lines,
				  const WorkerFrame *frames, uint32_t number, size_t limit_bytes)
{
	for (uint32_t i = number; i > 0; i--)
	{
		if (lines[i - 1].filename == lines[number].filename)
			return frames[i - 1].filename;
	}
	return protocol_put_string(text, text_bytes, lines[number].filename, limit_bytes);
}

size_t
worker_reply_encode(void *message, int32_t status, const SymbolLine *lines, uint32_t count)
{
	WorkerReply reply = { .status = status, .frame_count = count };
	WorkerFrame frames[WORKER_FRAMES_MAX];
	char *text = (char *) message + sizeof(reply) + count * sizeof(*frames);
	size_t room = WORKER_MESSAGE_BYTES - sizeof(reply) - count * sizeof(*frames);
	size_t limit_bytes = count > 0 ? room / (3 * count) : 0;

	/* an equal share for each string keeps every reply within a message */
	if (limit_bytes > WORKER_STRING_MAX)
		limit_bytes = WORKER_STRING_MAX;
	for (uint32_t i = 0; i < count; i++)
	{
		WorkerFrame *frame = &frames[i];

		frame->name = protocol_put_string(text, &reply.text_bytes, lines[i].name, limit_bytes);
		/* names of C and names that are not mangled are sent once */
		frame->system_name =
			strcmp(lines[i].system_name, lines[i].name) == 0
				? frame->name
				: protocol_put_string(text, &reply.text_bytes, lines[i].system_name, limit_bytes);
		frame->filename = protocol_put_path(text, &reply.text_bytes, lines, frames, i, limit_bytes);
		frame->start_line = lines[i].start_line;
		frame->line = lines[i].line;
	}
	memcpy(message, &reply, sizeof(reply));
	memcpy((char *) message + sizeof(reply), frames, count * sizeof(*frames));
	return sizeof(reply) + count * sizeof(*frames) + reply.text_bytes;
}

int
worker_reply_decode(void *message, size_t size_bytes, SymbolLine *lines, uint32_t *count,
					size_t *reply_bytes)
{
	WorkerReply reply;
	uint64_t needed_bytes;
	char *text;

	if (size_bytes < sizeof(reply))
		return -EPROTO;
	memcpy(&reply, message, sizeof(reply));
	needed_bytes =
		sizeof(reply) + (uint64_t) reply.frame_count * sizeof(WorkerFrame) + reply.text_bytes;
	/* the worker may have been taken over by a file that it read */
	if (reply.status > 0 || reply.frame_count > WORKER_FRAMES_MAX || size_bytes < needed_bytes)
		return -EPROTO;
	text = (char *) message + sizeof(reply) + reply.frame_count * sizeof(WorkerFrame);
	/* with a NUL at the end no string can be read beyond the text */
	if (reply.frame_count > 0 && (reply.text_bytes == 0 || text[reply.text_bytes - 1] != '\0'))
		return -EPROTO;
	for (uint32_t i = 0; i < reply.frame_count; i++)
	{
		WorkerFrame frame;

		memcpy(&frame, (char *) message + sizeof(reply) + i * sizeof(frame), sizeof(frame));
		if (frame.name >= reply.text_bytes || frame.system_name >= reply.text_bytes ||
			frame.filename >= reply.text_bytes)
			return -EPROTO;
		lines[i] = (SymbolLine){
			.name = text + frame.name,
			.system_name = text + frame.system_name,
			.filename = text + frame.filename,
			.start_line = frame.start_line,
			.line = frame.line,
		};
	}
	*count = reply.frame_count;
	*reply_bytes = needed_bytes;
	return reply.status;
}
