/*
 * fuzz_config.c
 *		Any bytes as a document of YAML, and as a rule's regular expression: no finding of the
 *		sanitizers, and no slow input.
 */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "config/config_reader.h"
#include "labels/regex.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length);

typedef struct Item
{
	const char *text;
	bool flag;
	int64_t number;
	int64_t duration_ms;
	ConfigList texts;
	ConfigList pairs;
	ConfigList items;
} Item;

static bool read_items(ConfigReader *reader, const Node *node, void *field);

static bool
read_item(ConfigReader *reader, const Node *node, void *field)
{
	static const ConfigField fields[] = {
		{ "text", config_read_text, offsetof(Item, text) },
		{ "flag", config_read_bool, offsetof(Item, flag) },
		{ "number", config_read_number, offsetof(Item, number) },
		{ "duration", config_read_duration, offsetof(Item, duration_ms) },
		{ "texts", config_read_texts, offsetof(Item, texts) },
		{ "pairs", config_read_pairs, offsetof(Item, pairs) },
		{ "items", read_items, offsetof(Item, items) },
	};

	return config_read_fields(reader, node, CONFIG_FIELDS(fields), field);
}

static bool
read_items(ConfigReader *reader, const Node *node, void *field)
{
	return config_read_items(reader, node, sizeof(Item), read_item, field);
}

static void
try_document(const char *text, size_t length)
{
	Failure failure;
	Document document;
	ConfigReader reader = { &document, &failure, "/etc" };
	Item item = { NULL };

	if (document_parse(&document, "fuzzed", text, length, &failure) == EXIT_OK &&
		document.root != NULL && !read_item(&reader, document.root, &item) &&
		failure.detail[0] == '\0')
		abort();
	document_free(&document);
}

static void
try_regex(const char *text)
{
	char error[REGEX_ERROR_BYTES];
	Regex *regex = regex_compile(text, error);

	if (regex == NULL && error[0] == '\0')
		abort();
	if (regex != NULL)
	{
		(void) regex_match(regex, "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaab");
		(void) regex_match(regex, text);
	}
	regex_free(regex);
}

int
LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length)
{
	char *text = malloc(length + 1);

	if (text == NULL)
		return 0;
	if (length > 0)
		memcpy(text, bytes, length);
	text[length] = '\0';
	try_document(text, length);
	if (length < 4096)
		try_regex(text);
	free(text);
	return 0;
}
