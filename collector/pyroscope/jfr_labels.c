/*
 * jfr_labels.c
 *		Reads LabelsSnapshot: 1 contexts {1 id, 2 Context: 1 labels {1 key, 2 value}}, 2 strings
 *		{1 id, 2 text}. All of them are maps.
 */
#include "pyroscope/jfr_labels.h"

enum
{
	SNAPSHOT_CONTEXT = 1,
	SNAPSHOT_TEXT = 2,
	CONTEXT_LABEL = 1,
	ENTRY_KEY = 1,
	ENTRY_VALUE = 2
};

/* An entry of a map: a key, and a number or bytes. */
typedef struct MapEntry
{
	uint64_t key;
	uint64_t number;
	Span bytes;
} MapEntry;

static PfsReadStatus
jfr_labels_refused(const JfrLabels *labels)
{
	PfsReadError error;

	return pfs_budget_status(&labels->budget, &error);
}

static bool
map_entry_read(Span span, MapEntry *entry)
{
	Message message = message_of(span);

	*entry = (MapEntry){ .bytes = { (const uint8_t *) "", 0 } };
	while (message_next(&message))
	{
		if (field_is_number(&message.field, ENTRY_KEY))
			entry->key = message.field.value;
		else if (field_is_number(&message.field, ENTRY_VALUE))
			entry->number = message.field.value;
		else if (field_is_message(&message.field, ENTRY_VALUE))
			entry->bytes = field_span(&message.field);
	}
	return message.error == NULL;
}

/* Adds a text with its id. */
static PfsReadStatus
jfr_labels_add_text(JfrLabels *labels, const MapEntry *entry)
{
	if (!PFS_GROW(&labels->budget, labels->texts, labels->text_ids.count))
		return jfr_labels_refused(labels);
	labels->texts[labels->text_ids.count] =
		(PfsText){ (const char *) entry->bytes.bytes, (uint32_t) entry->bytes.length };
	return pfs_id_add(&labels->text_ids, &labels->budget, entry->key) ? PFS_READ_OK
																	  : jfr_labels_refused(labels);
}

/* Adds a set of labels with its id. */
static PfsReadStatus
add_context(JfrLabels *labels, const MapEntry *entry)
{
	Message message = message_of(entry->bytes);
	const uint32_t first = labels->label_count;

	while (message_next(&message))
	{
		MapEntry label;

		if (!field_is_message(&message.field, CONTEXT_LABEL))
			continue;
		if (!map_entry_read(field_span(&message.field), &label))
			return PFS_READ_MALFORMED;
		/* each event of the context gets all of these labels */
		if (labels->label_count - first == PFS_PROFILE_MAX_LABELS)
			return PFS_READ_TOO_LARGE;
		if (!PFS_GROW(&labels->budget, labels->labels, labels->label_count))
			return jfr_labels_refused(labels);
		labels->labels[labels->label_count++] = (JfrLabelIds){ label.key, label.number };
	}
	if (message.error != NULL)
		return PFS_READ_MALFORMED;
	if (!PFS_GROW(&labels->budget, labels->contexts, labels->context_ids.count))
		return jfr_labels_refused(labels);
	labels->contexts[labels->context_ids.count] =
		(JfrContext){ first, labels->label_count - first };
	return pfs_id_add(&labels->context_ids, &labels->budget, entry->key)
			   ? PFS_READ_OK
			   : jfr_labels_refused(labels);
}

PfsReadStatus
jfr_labels_read(JfrLabels *labels, Span span, PfsAllocator allocator)
{
	Message message = message_of(span);
	PfsReadStatus status = PFS_READ_OK;

	*labels = (JfrLabels){ .budget = { .allocator = allocator,
									   .left = pfs_profile_budget_bytes(span.length) } };
	while (status == PFS_READ_OK && message_next(&message))
	{
		const bool is_context = field_is_message(&message.field, SNAPSHOT_CONTEXT);
		MapEntry entry;

		if (!is_context && !field_is_message(&message.field, SNAPSHOT_TEXT))
			continue;
		if (!map_entry_read(field_span(&message.field), &entry))
			return PFS_READ_MALFORMED;
		status = is_context ? add_context(labels, &entry) : jfr_labels_add_text(labels, &entry);
	}
	if (status != PFS_READ_OK)
		return status;

	/* a map has no two entries with one id */
	return message.error == NULL && pfs_ids_finish(&labels->text_ids) &&
				   pfs_ids_finish(&labels->context_ids)
			   ? PFS_READ_OK
			   : PFS_READ_MALFORMED;
}

void
jfr_labels_free(JfrLabels *labels)
{
	void *arrays[] = { labels->text_ids.entries, labels->texts, labels->context_ids.entries,
					   labels->contexts, labels->labels };

	for (size_t i = 0; i < sizeof(arrays) / sizeof(arrays[0]); i++)
		if (arrays[i] != NULL)
			labels->budget.allocator.realloc(labels->budget.allocator.context, arrays[i], 0);
	*labels = (JfrLabels){ .texts = NULL };
}

JfrContext
jfr_labels_context(const JfrLabels *labels, uint64_t id)
{
	const uint32_t index = pfs_id_find(&labels->context_ids, id);

	return index != PFS_NONE ? labels->contexts[index] : (JfrContext){ 0, 0 };
}

PfsText
jfr_labels_text(const JfrLabels *labels, uint64_t id)
{
	const uint32_t index = pfs_id_find(&labels->text_ids, id);

	return index != PFS_NONE ? labels->texts[index] : (PfsText){ "", 0 };
}
