/*
 * test_uploads.c
 *		Debug information that clients upload: tokens with that right, limits of concurrent uploads,
 *		messages.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "http_server/identity.h"
#include "uploads/upload_slots.h"

#define MB		((size_t) 1024 * 1024)
#define MINUTE	(60 * NS_PER_S)
#define BUILD_A "a1a1a1a1a1a1a1a1"
#define BUILD_B "b1b1b1b1b1b1b1b1"

/* --- tokens --- */

static ExitCode
read_tokens(const char *text, Identities **identities)
{
	char path[] = "/tmp/test_uploads.XXXXXX";
	int fd = mkstemp(path);
	Failure failure;
	ExitCode code;

	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
	close(fd);
	code = identities_read(path, identities, &failure);
	unlink(path);
	return code;
}

static void
test_tokens(void **state)
{
	Identities *identities;
	bool may_upload = true;

	assert_int_equal(read_tokens("shop one\n# comment\nshop two upload\ntoys three upload \n",
								 &identities),
					 EXIT_OK);
	assert_string_equal(identities_find(identities, "Bearer one", &may_upload), "shop");
	assert_false(may_upload);
	assert_string_equal(identities_find(identities, "Bearer two", &may_upload), "shop");
	assert_true(may_upload);
	assert_null(identities_find(identities, "Bearer upload", &may_upload));
	assert_false(may_upload);
	assert_true(identities_may_upload(identities, "shop"));
	assert_true(identities_may_upload(identities, "toys"));
	assert_false(identities_may_upload(identities, "dull"));
	identities_free(identities);
	assert_int_equal(read_tokens("shop one uploads\n", &identities), EXIT_CONFIG);
	assert_int_equal(read_tokens("shop one upload more\n", &identities), EXIT_CONFIG);
}

/* --- uploads under way --- */

static const UploadLimits limits = { "/tmp", 8 * MB, 16 * MB, 64 * MB };
static uint8_t bytes[4 * MB];

static UploadEnd
begin(UploadSlots *slots, const char *tenant, const char *build_id, int64_t size, int64_t now_ns,
	  char upload_id[UPLOAD_ID_BYTES])
{
	UploadQuestion question = { .bytes = size };

	snprintf(question.build_id, sizeof(question.build_id), "%s", build_id);
	return upload_slots_begin(slots, tenant, &question, now_ns, upload_id);
}

/* Begins an upload and attaches to it. */
static uint64_t
attach(UploadSlots *slots, const char *tenant, const char *build_id, int64_t size, int64_t now_ns)
{
	char upload_id[UPLOAD_ID_BYTES];

	assert_int_equal(begin(slots, tenant, build_id, size, now_ns, upload_id), UPLOAD_OK);
	return upload_slots_attach(slots, tenant, build_id, upload_id, now_ns);
}

static void
test_stale(void **state)
{
	UploadSlots slots;
	char first[UPLOAD_ID_BYTES];
	char second[UPLOAD_ID_BYTES];
	uint64_t number;

	upload_slots_init(&slots, &limits);
	assert_int_equal(begin(&slots, "shop", BUILD_A, 100, 1, first), UPLOAD_OK);
	assert_int_equal(begin(&slots, "shop", BUILD_A, 100, 5 * MINUTE, second), UPLOAD_UNDER_WAY);
	assert_true(upload_slots_has(&slots, "shop", BUILD_A, 5 * MINUTE));
	assert_false(upload_slots_has(&slots, "shop", BUILD_A, 5 * MINUTE + 2));
	assert_int_equal(begin(&slots, "shop", BUILD_A, 100, 5 * MINUTE + 2, second), UPLOAD_OK);
	assert_string_not_equal(first, second);
	assert_int_equal(upload_slots_attach(&slots, "shop", BUILD_A, first, 6 * MINUTE), 0);
	assert_int_equal(upload_slots_attach(&slots, "toys", BUILD_A, second, 6 * MINUTE), 0);
	number = upload_slots_attach(&slots, "shop", BUILD_A, second, 6 * MINUTE);
	assert_int_not_equal(number, 0);
	assert_int_equal(upload_slots_attach(&slots, "shop", BUILD_A, second, 6 * MINUTE), 0);

	/* an upload belongs to its call, however long that takes, but accepts no byte after its time */
	assert_int_equal(upload_slots_write(&slots, number, bytes, 50, 22 * MINUTE), UPLOAD_OK);
	assert_int_equal(upload_slots_write(&slots, number, bytes, 50, 22 * MINUTE + 3),
					 UPLOAD_UNKNOWN);
	assert_true(upload_slots_has(&slots, "shop", BUILD_A, 60 * MINUTE));
	upload_slots_end(&slots, number);
	assert_false(upload_slots_has(&slots, "shop", BUILD_A, 60 * MINUTE));
	assert_int_equal(upload_slots_write(&slots, number, bytes, 1, 60 * MINUTE), UPLOAD_UNKNOWN);
	upload_slots_fini(&slots);
}

static void
test_budgets(void **state)
{
	UploadSlots slots;
	char upload_id[UPLOAD_ID_BYTES];
	uint64_t number;
	uint64_t other;

	upload_slots_init(&slots, &limits);
	number = attach(&slots, "shop", BUILD_A, 0, 1);
	assert_int_equal(upload_slots_write(&slots, number, bytes, 4 * MB, 1), UPLOAD_OK);
	assert_int_equal(begin(&slots, "shop", BUILD_B, 5 * (int64_t) MB, 1, upload_id), UPLOAD_BUSY);
	other = attach(&slots, "toys", BUILD_B, 5 * MB, 1);
	assert_int_equal(upload_slots_write(&slots, other, bytes, 4 * MB, 1), UPLOAD_OK);
	assert_int_equal(upload_slots_write(&slots, other, bytes, MB + 1, 1), UPLOAD_LONGER);
	assert_int_equal(upload_slots_check(upload_slots_get(&slots, other)), UPLOAD_SHORTER);
	assert_int_equal(upload_slots_write(&slots, other, bytes, MB, 1), UPLOAD_OK);
	assert_int_equal(upload_slots_check(upload_slots_get(&slots, other)), UPLOAD_OK);
	assert_int_equal(upload_slots_write(&slots, number, bytes, 4 * MB, 1), UPLOAD_OK);
	assert_int_equal(upload_slots_write(&slots, number, bytes, 1, 1), UPLOAD_TOO_LARGE);
	upload_slots_end(&slots, number);
	upload_slots_end(&slots, other);
	assert_int_equal(begin(&slots, "shop", BUILD_A, 9 * (int64_t) MB, 1, upload_id),
					 UPLOAD_TOO_LARGE);
	assert_int_equal(begin(&slots, "shop", BUILD_A, -1, 1, upload_id), UPLOAD_TOO_LARGE);

	upload_slots_fini(&slots);
}

/* When a tenant's bytes of an hour are used up, the others are not affected. */
static void
test_hour(void **state)
{
	UploadSlots slots;
	char upload_id[UPLOAD_ID_BYTES];

	upload_slots_init(&slots, &limits);
	for (int i = 0; i < 16; i++)
	{
		uint64_t number = attach(&slots, "shop", BUILD_A, 0, 1);

		assert_int_equal(upload_slots_write(&slots, number, bytes, 4 * MB, 1), UPLOAD_OK);
		upload_slots_end(&slots, number);
	}
	assert_int_equal(begin(&slots, "shop", BUILD_B, 1, 1, upload_id), UPLOAD_BUSY);
	assert_int_equal(begin(&slots, "toys", BUILD_B, 1, 1, upload_id), UPLOAD_OK);
	assert_int_equal(begin(&slots, "shop", BUILD_B, 1, MINUTE, upload_id), UPLOAD_OK);
	upload_slots_fini(&slots);
}

static void
test_refusals(void **state)
{
	UploadSlots slots;
	UploadQuestion question = { BUILD_A, .hash = "h1" };

	upload_slots_init(&slots, &limits);
	upload_slots_refuse(&slots, "shop", &question);
	assert_true(upload_slots_refused(&slots, "shop", &question));
	assert_false(upload_slots_refused(&slots, "toys", &question));
	question.hash[0] = '\0';
	upload_slots_refuse(&slots, "shop", &question);
	assert_false(upload_slots_refused(&slots, "shop", &question));
	upload_slots_fini(&slots);
}

/* --- messages --- */

static void
test_messages(void **state)
{
	static const char initiate[] = "\x0a\x10"
								   "A1a1a1a1a1a1a1a1"
								   "\x10\xe8\x07\x1a\x01h\x20\x01\x28\x01\x30\x01";
	static const char zero[] = "\x0a\x10" BUILD_A "\x02\x10" BUILD_B; /* a field without number */
	static const char path[] = "\x0a\x10../../../../etc/";
	UploadQuestion question;

	assert_null(upload_question_read(UPLOAD_INITIATE,
									 (Span){ (const uint8_t *) initiate, sizeof(initiate) - 1 },
									 &question));
	assert_string_equal(question.build_id, BUILD_A);
	assert_int_equal(question.bytes, 1000);
	assert_string_equal(question.hash, "h");
	assert_true(question.is_forced);
	assert_int_equal(question.type, 1);
	assert_int_equal(question.id_type, 1);
	if (upload_question_read(UPLOAD_SHOULD, (Span){ (const uint8_t *) zero, sizeof(zero) - 1 },
							 &question) == NULL)
		assert_string_equal(question.upload_id, "");
	assert_non_null(upload_question_read(UPLOAD_SHOULD,
										 (Span){ (const uint8_t *) path, sizeof(path) - 1 },
										 &question));
	for (size_t cut = 1; cut + 1 < sizeof(initiate); cut++)
	{
		/*
		 * cut between two fields the text is a message without the later ones, otherwise it is
		 * invalid
		 */
		const char *text =
			upload_question_read(UPLOAD_INITIATE, (Span){ (const uint8_t *) initiate, cut },
								 &question);

		assert_true((text == NULL) ==
					(cut == 18 || cut == 21 || cut == 24 || cut == 26 || cut == 28));
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_tokens),	 cmocka_unit_test(test_stale),
		cmocka_unit_test(test_budgets),	 cmocka_unit_test(test_hour),
		cmocka_unit_test(test_refusals), cmocka_unit_test(test_messages),
	};

	return cmocka_run_group_tests_name("uploads", tests, NULL, NULL);
}
