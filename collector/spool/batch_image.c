/*
 * batch_image.c
 *		Writes and reads the items of a batch, kind by kind.
 *
 * batch.c checks indexes, labels and sums. This file checks lengths, and that each item gets the
 * index that it had: a batch has no two equal items, so it must.
 */
#include "spool/batch_image.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "formats/wire_write.h"

#define IMAGE_VERSION 1

/* --- writing --- */

/* Makes room for length bytes. On out of memory the image has failed: its bytes are NULL. */
static char *
image_extend(BatchImage *image, size_t length)
{
	if (image->capacity - image->length < length)
	{
		/* doubles, so that appending costs the same per byte, however long the image */
		size_t wanted = image->capacity * 2 + length + 4096;
		uint8_t *grown = realloc(image->bytes, wanted);

		if (grown == NULL)
			return NULL;
		image->bytes = grown;
		image->capacity = wanted;
	}
	return (char *) image->bytes + image->length;
}

/* The bytes of one item: appends pieces one after the other, and records a failure only once. */
typedef struct ImageWriter
{
	BatchImage *image;
	bool failed;
} ImageWriter;

static void
put_number(ImageWriter *writer, uint64_t value)
{
	char *at = writer->failed ? NULL : image_extend(writer->image, PFS_WIRE_FIELD_MAX);

	if (at == NULL)
		writer->failed = true;
	else
		writer->image->length += (size_t) (pfs_wire_put_varint(at, value) - at);
}

static void
put_signed(ImageWriter *writer, int64_t value)
{
	/* zigzag: 0, -1, 1, -2 become 0, 1, 2, 3, so that small negative numbers are short, too */
	put_number(writer, ((uint64_t) value << 1) ^ (uint64_t) (value >> 63));
}

static void
image_put_bytes(ImageWriter *writer, const void *bytes, size_t length)
{
	char *at = writer->failed ? NULL : image_extend(writer->image, length);

	if (at == NULL)
		writer->failed = true;
	else
	{
		memcpy(at, bytes, length);
		writer->image->length += length;
	}
}

static void
image_put_text(ImageWriter *writer, const char *text)
{
	size_t length = strlen(text);

	put_number(writer, length);
	image_put_bytes(writer, text, length);
}

/* Writes mappings, functions and locations. */
static void
put_code(ImageWriter *writer, const Batch *batch)
{
	/*
	 * Each kind after the kinds to which its items refer, so that reading can add items in this
	 * order.
	 */
	const BatchMapping *mappings;
	const BatchFunction *functions;
	const BatchLocation *locations;
	size_t count = batch_mappings(batch, &mappings);

	put_number(writer, count);
	for (size_t i = 0; i < count; i++)
	{
		image_put_text(writer, mappings[i].build_id);
		image_put_text(writer, mappings[i].file);
	}
	count = batch_functions(batch, &functions);
	put_number(writer, count);
	for (size_t i = 0; i < count; i++)
	{
		image_put_text(writer, functions[i].name);
		image_put_text(writer, functions[i].system_name);
		image_put_text(writer, functions[i].filename);
		put_signed(writer, functions[i].start_line);
	}
	count = batch_locations(batch, &locations);
	put_number(writer, count);
	for (size_t i = 0; i < count; i++)
	{
		/* BATCH_NO_MAPPING is UINT32_MAX, which takes five bytes */
		put_number(writer, locations[i].mapping);
		put_number(writer, locations[i].address);
		put_number(writer, locations[i].line_count);
		for (uint32_t line = 0; line < locations[i].line_count; line++)
		{
			put_number(writer, locations[i].lines[line].function);
			put_signed(writer, locations[i].lines[line].line);
		}
	}
}

static void
put_stacks(ImageWriter *writer, const Batch *batch)
{
	const BatchStack *stacks;
	size_t count = batch_stacks(batch, &stacks);

	put_number(writer, count);
	for (size_t i = 0; i < count; i++)
	{
		image_put_text(writer, stacks[i].partition);
		put_number(writer, stacks[i].depth);
		for (uint32_t frame = 0; frame < stacks[i].depth; frame++)
			put_number(writer, stacks[i].locations[frame]);
	}
}

static void
image_put_series(ImageWriter *writer, const Batch *batch)
{
	const BatchSeries *series;
	size_t count = batch_series(batch, &series);

	put_number(writer, count);
	for (size_t i = 0; i < count; i++)
	{
		image_put_text(writer, series[i].profile_type);
		put_signed(writer, series[i].period);
		put_number(writer, series[i].label_count);
		for (uint32_t label = 0; label < series[i].label_count; label++)
		{
			image_put_text(writer, series[i].labels[label].name);
			image_put_text(writer, series[i].labels[label].value);
		}
	}
}

static void
put_sample(ImageWriter *writer, const BatchSample *sample, int64_t *time_us)
{
	/*
	 * Neighbouring samples mostly have close times. The difference is taken without a sign, because
	 * times may be any 64-bit number.
	 */
	put_signed(writer, (int64_t) ((uint64_t) sample->time_us - (uint64_t) *time_us));
	*time_us = sample->time_us;
	put_number(writer, sample->series);
	put_number(writer, sample->stack);
	put_signed(writer, sample->value);
}

static void
put_samples(ImageWriter *writer, const Batch *batch)
{
	const BatchSample *samples;
	const BatchTrace *traces;
	size_t count = batch_samples(batch, &samples);
	int64_t time_us = 0;

	put_number(writer, count);
	for (size_t i = 0; i < count; i++)
		put_sample(writer, &samples[i], &time_us);
	/* time_us goes on from the last sample, as in image_read_samples() */
	count = batch_traces(batch, &traces);
	put_number(writer, count);
	for (size_t i = 0; i < count; i++)
	{
		put_sample(writer, &traces[i].sample, &time_us);
		image_put_bytes(writer, traces[i].trace, sizeof(traces[i].trace));
		image_put_bytes(writer, traces[i].span, sizeof(traces[i].span));
	}
}

static void
put_counts(ImageWriter *writer, const Batch *batch)
{
	const BatchLoss *losses;
	const BatchUnwound *unwound;
	size_t count = batch_losses(batch, &losses);

	put_number(writer, count);
	for (size_t i = 0; i < count; i++)
	{
		image_put_text(writer, losses[i].reason);
		put_number(writer, losses[i].count);
	}
	count = batch_unwound(batch, &unwound);
	put_number(writer, count);
	for (size_t i = 0; i < count; i++)
	{
		image_put_text(writer, unwound[i].exe);
		put_number(writer, unwound[i].stacks);
		put_number(writer, unwound[i].complete);
	}
}

static void
put_notes(ImageWriter *writer, const Batch *batch)
{
	const BatchNote *notes;
	const BatchReceipt *receipts;
	size_t count = batch_notes(batch, &notes);

	put_number(writer, count);
	for (size_t i = 0; i < count; i++)
	{
		put_number(writer, notes[i].series);
		put_number(writer, notes[i].comment_count);
		for (uint32_t comment = 0; comment < notes[i].comment_count; comment++)
			image_put_text(writer, notes[i].comments[comment]);
		image_put_text(writer, notes[i].default_type);
		image_put_text(writer, notes[i].doc_url);
		image_put_text(writer, notes[i].drop_frames);
		image_put_text(writer, notes[i].keep_frames);
	}
	count = batch_receipts(batch, &receipts);
	put_number(writer, count);
	for (size_t i = 0; i < count; i++)
		image_put_bytes(writer, receipts[i].bytes, sizeof(receipts[i].bytes));
}

int
batch_image_write(BatchImage *image, const Batch *batch)
{
	ImageWriter writer = { .image = image };

	put_number(&writer, IMAGE_VERSION);
	put_code(&writer, batch);
	put_stacks(&writer, batch);
	image_put_series(&writer, batch);
	put_samples(&writer, batch);
	put_counts(&writer, batch);
	put_notes(&writer, batch);
	return writer.failed ? -ENOMEM : 0;
}

/* --- reading --- */

typedef struct ImageReader
{
	const uint8_t *bytes;
	size_t length;
	size_t at;
	Batch *batch;
	int err; /* error of the first failure; 0: none */
	/* allocated array for the parts of one item: lines, frames, labels or comments */
	void *scratch;
} ImageReader;

static void
reader_fail(ImageReader *reader, int err)
{
	if (reader->err == 0)
		reader->err = err;
}

/* Reads a number. Returns 0 after a failure, so that loops over items end. */
static uint64_t
image_take_number(ImageReader *reader)
{
	uint64_t value;

	if (reader->err == 0 && pfs_wire_varint(reader->bytes, reader->length, &reader->at, &value))
		return value;
	/* does not replace the error of an earlier failure */
	reader_fail(reader, -EBADMSG);
	return 0;
}

static int64_t
take_signed(ImageReader *reader)
{
	uint64_t value = image_take_number(reader);

	/* the lowest bit is the sign; -(value & 1) is all ones for a negative number */
	return (int64_t) (value >> 1) ^ -(int64_t) (value & 1);
}

static uint32_t
image_take_index(ImageReader *reader)
{
	uint64_t value = image_take_number(reader);

	if (value > UINT32_MAX)
		reader_fail(reader, -EBADMSG);
	return (uint32_t) value;
}

static int32_t
take_line(ImageReader *reader)
{
	int64_t value = take_signed(reader);

	if (value < INT32_MIN || value > INT32_MAX)
		reader_fail(reader, -EBADMSG);
	return (int32_t) value;
}

/* Reads a number of items. Each item takes at least one byte, which bounds the number. */
static uint32_t
take_count(ImageReader *reader)
{
	uint32_t count = image_take_index(reader);

	if (count <= reader->length - reader->at)
		return count;
	reader_fail(reader, -EBADMSG);
	return 0;
}

/* Copies bytes; zeros after a failure. */
static void
take_bytes(ImageReader *reader, void *bytes, size_t length)
{
	if (reader->err == 0 && length <= reader->length - reader->at)
	{
		memcpy(bytes, reader->bytes + reader->at, length);
		reader->at += length;
		return;
	}
	memset(bytes, 0, length);
	reader_fail(reader, -EBADMSG);
}

/* Reads a text and returns the batch's copy; "" after a failure. */
static const char *
image_take_text(ImageReader *reader)
{
	size_t length = take_count(reader);
	const char *bytes = (const char *) reader->bytes + reader->at;
	const char *text;

	/* batch_text() keeps strings with a terminating zero byte */
	if (reader->err == 0 && memchr(bytes, '\0', length) != NULL)
		reader_fail(reader, -EBADMSG);
	if (reader->err != 0)
		return "";
	reader->at += length;
	text = batch_text(reader->batch, bytes, length);
	if (text == NULL)
		reader_fail(reader, -ENOMEM);
	return text != NULL ? text : "";
}

/* Returns the scratch array with room for count items; NULL after a failure. */
static void *
reader_array(ImageReader *reader, uint32_t count, size_t item_bytes)
{
	void *array =
		/*
		 * one item more, so that NULL always means out of memory; the array's content is not needed
		 * any longer
		 */
		reader->err == 0 ? reallocarray(reader->scratch, (size_t) count + 1, item_bytes) : NULL;

	if (array != NULL)
		reader->scratch = array;
	else
		reader_fail(reader, -ENOMEM);
	return array;
}

/*
 * Checks the result of adding an item to the batch: its error, and the index that the item got
 * (NULL: none).
 */
static void
check_added(ImageReader *reader, int err, const uint32_t *index, uint32_t expected)
{
	/*
	 * Another index means that the item equals an earlier one, or is not valid UTF-8. Later items
	 * would then refer to wrong ones.
	 */
	if (err != 0)
		reader_fail(reader, err == -ENOMEM ? -ENOMEM : -EBADMSG);
	else if (index != NULL && *index != expected)
		reader_fail(reader, -EBADMSG);
}

static void
read_mappings(ImageReader *reader)
{
	uint32_t count = take_count(reader);

	for (uint32_t i = 0; i < count && reader->err == 0; i++)
	{
		BatchMapping mapping;
		uint32_t index = 0;

		mapping.build_id = image_take_text(reader);
		mapping.file = image_take_text(reader);
		if (reader->err == 0)
			check_added(reader, batch_add_mapping(reader->batch, &mapping, &index), &index, i);
	}
}

static void
image_read_functions(ImageReader *reader)
{
	uint32_t count = take_count(reader);

	for (uint32_t i = 0; i < count && reader->err == 0; i++)
	{
		BatchFunction function;
		uint32_t index = 0;

		function.name = image_take_text(reader);
		function.system_name = image_take_text(reader);
		function.filename = image_take_text(reader);
		function.start_line = take_line(reader);
		if (reader->err == 0)
			check_added(reader, batch_add_function(reader->batch, &function, &index), &index, i);
	}
}

static void
read_locations(ImageReader *reader)
{
	uint32_t count = take_count(reader);

	for (uint32_t i = 0; i < count && reader->err == 0; i++)
	{
		BatchLocation location;
		BatchLine *lines;
		uint32_t index = 0;

		location.mapping = image_take_index(reader);
		location.address = image_take_number(reader);
		location.line_count = take_count(reader);
		lines = reader_array(reader, location.line_count, sizeof(BatchLine));
		for (uint32_t line = 0; reader->err == 0 && line < location.line_count; line++)
		{
			lines[line].function = image_take_index(reader);
			lines[line].line = take_line(reader);
		}
		location.lines = lines;
		/* batch_add_location() checks the indexes of mapping and functions */
		if (reader->err == 0)
			check_added(reader, batch_add_location(reader->batch, &location, &index), &index, i);
	}
}

static void
read_stacks(ImageReader *reader)
{
	uint32_t count = take_count(reader);

	for (uint32_t i = 0; i < count && reader->err == 0; i++)
	{
		BatchStack stack = { .partition = image_take_text(reader) };
		uint32_t *frames;
		uint32_t index = 0;

		stack.depth = take_count(reader);
		frames = reader_array(reader, stack.depth, sizeof(uint32_t));
		for (uint32_t frame = 0; reader->err == 0 && frame < stack.depth; frame++)
			frames[frame] = image_take_index(reader);
		stack.locations = frames;
		if (reader->err == 0)
			check_added(reader, batch_add_stack(reader->batch, &stack, &index), &index, i);
	}
}

static void
image_read_series(ImageReader *reader)
{
	uint32_t count = take_count(reader);

	for (uint32_t i = 0; i < count && reader->err == 0; i++)
	{
		BatchSeries series = { .profile_type = image_take_text(reader) };
		BatchLabel *labels;
		uint32_t index = 0;

		series.period = take_signed(reader);
		series.label_count = take_count(reader);
		labels = reader_array(reader, series.label_count, sizeof(BatchLabel));
		for (uint32_t label = 0; reader->err == 0 && label < series.label_count; label++)
		{
			labels[label].name = image_take_text(reader);
			labels[label].value = image_take_text(reader);
		}
		series.labels = labels;
		if (reader->err == 0)
			check_added(reader, batch_add_series(reader->batch, &series, &index), &index, i);
	}
}

static BatchSample
take_sample(ImageReader *reader, int64_t *time_us)
{
	BatchSample sample;

	*time_us = (int64_t) ((uint64_t) *time_us + (uint64_t) take_signed(reader));
	sample.time_us = *time_us;
	sample.series = image_take_index(reader);
	sample.stack = image_take_index(reader);
	sample.value = take_signed(reader);
	return sample;
}

static void
image_read_samples(ImageReader *reader)
{
	uint32_t count = take_count(reader);
	const BatchSample *stored;
	int64_t time_us = 0;

	for (uint32_t i = 0; i < count && reader->err == 0; i++)
	{
		BatchSample sample = take_sample(reader, &time_us);

		if (reader->err == 0)
			check_added(reader, batch_add_sample(reader->batch, &sample), NULL, 0);
	}
	/* A batch adds up samples of equal series, stack and time; an image of a batch has none. */
	if (reader->err == 0 && batch_samples(reader->batch, &stored) != count)
		reader_fail(reader, -EBADMSG);
	count = take_count(reader);
	for (uint32_t i = 0; i < count && reader->err == 0; i++)
	{
		BatchTrace trace = { .sample = take_sample(reader, &time_us) };

		take_bytes(reader, trace.trace, sizeof(trace.trace));
		take_bytes(reader, trace.span, sizeof(trace.span));
		if (reader->err == 0)
			check_added(reader, batch_add_trace(reader->batch, &trace), NULL, 0);
	}
}

static void
read_counts(ImageReader *reader)
{
	uint32_t count = take_count(reader);

	for (uint32_t i = 0; i < count && reader->err == 0; i++)
	{
		const char *reason = image_take_text(reader);
		uint64_t losses = image_take_number(reader);

		if (reader->err == 0)
			check_added(reader, batch_add_loss(reader->batch, reason, losses), NULL, 0);
	}
	count = take_count(reader);
	for (uint32_t i = 0; i < count && reader->err == 0; i++)
	{
		BatchUnwound unwound = { .exe = image_take_text(reader) };

		unwound.stacks = image_take_number(reader);
		unwound.complete = image_take_number(reader);
		if (reader->err == 0)
			check_added(reader, batch_add_unwound(reader->batch, &unwound), NULL, 0);
	}
}

static void
read_notes(ImageReader *reader)
{
	uint32_t count = take_count(reader);

	for (uint32_t i = 0; i < count && reader->err == 0; i++)
	{
		BatchNote note = { .series = image_take_index(reader) };
		const char **comments;

		note.comment_count = take_count(reader);
		comments = reader_array(reader, note.comment_count, sizeof(char *));
		for (uint32_t comment = 0; reader->err == 0 && comment < note.comment_count; comment++)
			comments[comment] = image_take_text(reader);
		note.comments = comments;
		note.default_type = image_take_text(reader);
		note.doc_url = image_take_text(reader);
		note.drop_frames = image_take_text(reader);
		note.keep_frames = image_take_text(reader);
		if (reader->err == 0)
			check_added(reader, batch_add_note(reader->batch, &note), NULL, 0);
	}
	count = take_count(reader);
	for (uint32_t i = 0; i < count && reader->err == 0; i++)
	{
		BatchReceipt receipt;

		take_bytes(reader, receipt.bytes, sizeof(receipt.bytes));
		if (reader->err == 0)
			check_added(reader, batch_add_receipt(reader->batch, receipt.bytes), NULL, 0);
	}
}

int
batch_image_read(const uint8_t *bytes, size_t length, size_t budget_bytes, Batch **batch)
{
	ImageReader reader = { .bytes = bytes, .length = length };

	*batch = NULL;
	reader.err = batch_create(budget_bytes, &reader.batch);
	if (reader.err != 0)
		return reader.err;
	if (image_take_number(&reader) != IMAGE_VERSION)
		reader_fail(&reader, -EBADMSG);
	read_mappings(&reader);
	image_read_functions(&reader);
	read_locations(&reader);
	read_stacks(&reader);
	image_read_series(&reader);
	image_read_samples(&reader);
	read_counts(&reader);
	read_notes(&reader);
	/* bytes after the last kind: the image is of another version or damaged */
	if (reader.at != length)
		reader_fail(&reader, -EBADMSG);
	free(reader.scratch);
	if (reader.err == 0)
		*batch = reader.batch;
	else
		batch_free(reader.batch);
	return reader.err;
}
