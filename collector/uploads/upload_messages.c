/*
 * upload_messages.c
 *		Reads and writes protobuf by tables of field numbers.
 */
#include "uploads/upload_messages.h"

#include <string.h>

#include "http_server/protobuf.h"

#define STRATEGY_GRPC 1

static const char no_build_id[] = "the build ID is not the hexadecimal form of 8 to 32 bytes";

/* Numbers of the fields of each message; 0: the message lacks the field. */
typedef struct UploadFields
{
	unsigned build_id;
	unsigned upload_id;
	unsigned hash;
	unsigned name;
	unsigned bytes;
	unsigned type;
	unsigned id_type;
	unsigned is_forced;
} UploadFields;

static const UploadFields fields_of[UPLOAD_MESSAGES] = {
	[UPLOAD_SHOULD] = { .build_id = 1, .hash = 2, .is_forced = 3, .type = 4, .id_type = 5 },
	[UPLOAD_INITIATE] = { .build_id = 1,
						  .bytes = 2,
						  .hash = 3,
						  .is_forced = 4,
						  .type = 5,
						  .id_type = 6 },
	[UPLOAD_INFO] = { .build_id = 1, .upload_id = 2, .type = 3 },
	[UPLOAD_FINISHED] = { .build_id = 1, .upload_id = 2, .type = 3 },
	[UPLOAD_FILE] = { .build_id = 1, .hash = 3, .name = 4 },
};

bool
upload_build_id(const char *text, size_t length, char build_id[2 * UPLOAD_BUILD_ID_MOST + 1])
{
	if (length % 2 != 0 || length < 2 * UPLOAD_BUILD_ID_LEAST || length > 2 * UPLOAD_BUILD_ID_MOST)
		return false;
	for (size_t i = 0; i < length; i++)
	{
		char c = text[i];

		if (c >= 'A' && c <= 'F')
			c = (char) (c - 'A' + 'a');
		if (!((c >= '0' && c <= '9') || (c >= 'a' && c <= 'f')))
			return false;
		build_id[i] = c;
	}
	build_id[length] = '\0';
	return true;
}

/* Copies printable ASCII, cut to the room. Other bytes become question marks. */
static void
upload_copy_text(const PfsWireField *field, char *text, size_t room)
{
	size_t length = field->length < room ? field->length : room - 1;

	for (size_t i = 0; i < length; i++)
	{
		char c = (char) field->bytes[i];

		text[i] = c >= ' ' && c <= '~' ? c : '?';
	}
	text[length] = '\0';
}

/* Stores a field. Returns false if it is a build ID and invalid. */
static bool
take_field(const UploadFields *fields, const PfsWireField *field, UploadQuestion *question)
{
	if (field_is_message(field, fields->build_id))
		return upload_build_id((const char *) field->bytes, field->length, question->build_id);
	if (field_is_message(field, fields->upload_id))
		upload_copy_text(field, question->upload_id, sizeof(question->upload_id));
	else if (field_is_message(field, fields->hash))
		upload_copy_text(field, question->hash, sizeof(question->hash));
	else if (field_is_message(field, fields->name))
		upload_copy_text(field, question->name, sizeof(question->name));
	else if (field_is_number(field, fields->bytes))
		question->bytes = (int64_t) field->value;
	else if (field_is_number(field, fields->type))
		question->type = field->value;
	else if (field_is_number(field, fields->id_type))
		question->id_type = field->value;
	else if (field_is_number(field, fields->is_forced))
		question->is_forced = field->value != 0;
	return true;
}

const char *
upload_question_read(UploadMessage message, Span bytes, UploadQuestion *question)
{
	Message walk = message_of(bytes);

	*question = (UploadQuestion){ "" };
	while (message_next(&walk))
		if (walk.field.number != 0 && !take_field(&fields_of[message], &walk.field, question))
			return no_build_id;
	if (walk.error != NULL)
		return walk.error;
	return question->build_id[0] == '\0' ? no_build_id : NULL;
}

const char *
upload_part_read(Span bytes, bool is_first, UploadQuestion *question, Span *chunk)
{
	Message walk = message_of(bytes);
	Span info = { NULL, 0 };

	*chunk = (Span){ (const uint8_t *) "", 0 };
	while (message_next(&walk))
	{
		if (field_is_message(&walk.field, 1))
			info = field_span(&walk.field);
		else if (field_is_message(&walk.field, 2))
			*chunk = field_span(&walk.field);
	}
	if (walk.error != NULL)
		return walk.error;
	if (is_first)
		return info.bytes != NULL ? upload_question_read(UPLOAD_INFO, info, question)
								  : "the first message of an upload must be its info";
	return info.bytes == NULL ? NULL : "only the first message of an upload may be its info";
}

static void
upload_put_text(Buffer *body, unsigned field, const char *text)
{
	buffer_put_field(body, field, text, strlen(text));
}

void
upload_put_should(Buffer *body, bool should, const char *reason)
{
	if (should)
		buffer_put_number(body, 1, 1);
	upload_put_text(body, 2, reason);
}

void
upload_put_instructions(Buffer *body, const UploadQuestion *question, const char *upload_id)
{
	Buffer instructions = { NULL };

	upload_put_text(&instructions, 1, question->build_id);
	upload_put_text(&instructions, 2, upload_id);
	buffer_put_number(&instructions, 3, STRATEGY_GRPC);
	if (question->type != 0)
		buffer_put_number(&instructions, 5, question->type);
	buffer_put_field(body, 1, instructions.bytes, instructions.length);
	body->failed |= instructions.failed;
	buffer_fini(&instructions);
}

void
upload_put_received(Buffer *body, const char *build_id, uint64_t bytes)
{
	upload_put_text(body, 1, build_id);
	buffer_put_number(body, 2, bytes);
}
