/*
 * upload_slots.c
 *		A table of a few slots, which is searched linearly.
 */
#include "uploads/upload_slots.h"

#include <openssl/rand.h>
#include <openssl/sha.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/cache_directory.h"
#include "base/clock.h"
#include "base/regular_file.h"

#define HOUR_NS (INT64_C(3600) * NS_PER_S)
#define RANDOM	16 /* bytes of an upload's id */
#define BLOCK	((size_t) 4096)

void
upload_slots_init(UploadSlots *slots, const UploadLimits *limits)
{
	memset(slots, 0, sizeof(*slots));
	slots->limits = *limits;
	pthread_mutex_init(&slots->lock, NULL);
	for (size_t i = 0; i < UPLOADS_MAX; i++)
		slots->slots[i].fd = -1;
}

static void
slot_free(UploadSlot *slot)
{
	if (slot->fd >= 0)
		close(slot->fd);
	memset(slot, 0, sizeof(*slot));
	slot->fd = -1;
}

void
upload_slots_fini(UploadSlots *slots)
{
	for (size_t i = 0; i < UPLOADS_MAX; i++)
		slot_free(&slots->slots[i]);
	pthread_mutex_destroy(&slots->lock);
}

/* Frees slots whose client has not begun in time. */
static void
slots_sweep(UploadSlots *slots, int64_t now_ns)
{
	for (size_t i = 0; i < UPLOADS_MAX; i++)
	{
		UploadSlot *slot = &slots->slots[i];

		if (slot->number != 0 && !slot->is_attached && now_ns - slot->since_ns > UPLOAD_UNBEGUN_NS)
			slot_free(slot);
	}
}

static UploadSlot *
slot_of(UploadSlots *slots, const char *tenant, const char *build_id)
{
	for (size_t i = 0; i < UPLOADS_MAX; i++)
	{
		UploadSlot *slot = &slots->slots[i];

		if (slot->number != 0 && strcmp(slot->tenant, tenant) == 0 &&
			strcmp(slot->question.build_id, build_id) == 0)
			return slot;
	}
	return NULL;
}

bool
upload_slots_has(UploadSlots *slots, const char *tenant, const char *build_id, int64_t now_ns)
{
	bool found;

	pthread_mutex_lock(&slots->lock);
	slots_sweep(slots, now_ns);
	found = slot_of(slots, tenant, build_id) != NULL;
	pthread_mutex_unlock(&slots->lock);
	return found;
}

/* Returns a free slot; NULL if there is none, or if the tenant has too many. */
static UploadSlot *
upload_slots_free_slot(UploadSlots *slots, const char *tenant)
{
	UploadSlot *found = NULL;
	size_t count = 0;

	for (size_t i = 0; i < UPLOADS_MAX; i++)
	{
		if (slots->slots[i].number == 0)
			found = &slots->slots[i];
		else
			count += strcmp(slots->slots[i].tenant, tenant) == 0;
	}
	return count < UPLOADS_OF_TENANT ? found : NULL;
}

/* Makes an id that other clients cannot guess. */
static bool
make_id(char upload_id[UPLOAD_ID_BYTES])
{
	unsigned char random[RANDOM];

	if (RAND_bytes(random, sizeof(random)) != 1)
		return false;
	for (size_t i = 0; i < sizeof(random); i++)
		snprintf(upload_id + 2 * i, 3, "%02x", random[i]);
	return true;
}

static uint64_t
tenant_key(const char *tenant)
{
	uint64_t key = UINT64_C(14695981039346656037);

	for (; *tenant != '\0'; tenant++)
		key = (key ^ (unsigned char) *tenant) * UINT64_C(1099511628211);
	return key;
}

/* Sums the bytes on disk: those of a tenant, or all if tenant is NULL. */
static size_t
spooled_bytes(const UploadSlots *slots, const char *tenant)
{
	int64_t bytes = 0;

	for (size_t i = 0; i < UPLOADS_MAX; i++)
		if (slots->slots[i].number != 0 &&
			(tenant == NULL || strcmp(slots->slots[i].tenant, tenant) == 0))
			bytes += slots->slots[i].bytes;
	return (size_t) bytes;
}

static bool
has_space(const UploadSlots *slots, const char *tenant, size_t bytes)
{
	const size_t limit = slots->limits.space_bytes;
	const size_t all = spooled_bytes(slots, NULL);
	const size_t own = spooled_bytes(slots, tenant);

	return bytes <= limit / 2 && own <= limit / 2 - bytes && all <= limit - bytes;
}

/* Returns true if the tenant may send further bytes in this hour. */
static bool
has_allowance(const UploadSlots *slots, const char *tenant, int64_t now_ns)
{
	const Allowance *allowance = allowance_find(slots->tenants, UPLOAD_TENANTS, tenant_key(tenant));

	return allowance == NULL || allowance->paid_ns < (uint64_t) (now_ns + HOUR_NS);
}

UploadEnd
upload_slots_begin(UploadSlots *slots, const char *tenant, const UploadQuestion *question,
				   int64_t now_ns, char upload_id[UPLOAD_ID_BYTES])
{
	UploadEnd end = UPLOAD_BUSY;
	UploadSlot *slot;

	if (question->bytes < 0 || (uint64_t) question->bytes > slots->limits.file_bytes)
		return UPLOAD_TOO_LARGE;
	pthread_mutex_lock(&slots->lock);
	slots_sweep(slots, now_ns);
	slot = upload_slots_free_slot(slots, tenant);
	if (slot_of(slots, tenant, question->build_id) != NULL)
		end = UPLOAD_UNDER_WAY;
	else if (slot != NULL && has_space(slots, tenant, (size_t) question->bytes) &&
			 has_allowance(slots, tenant, now_ns) && make_id(upload_id))
	{
		slot->number = ++slots->last_number;
		slot->question = *question;
		slot->since_ns = now_ns;
		snprintf(slot->tenant, sizeof(slot->tenant), "%s", tenant);
		snprintf(slot->upload_id, sizeof(slot->upload_id), "%s", upload_id);
		end = UPLOAD_OK;
	}
	pthread_mutex_unlock(&slots->lock);
	return end;
}

uint64_t
upload_slots_attach(UploadSlots *slots, const char *tenant, const char *build_id,
					const char *upload_id, int64_t now_ns)
{
	uint64_t number = 0;
	UploadSlot *slot;

	pthread_mutex_lock(&slots->lock);
	slots_sweep(slots, now_ns);
	slot = slot_of(slots, tenant, build_id);
	if (slot != NULL && !slot->is_attached &&
		(upload_id[0] == '\0' || strcmp(slot->upload_id, upload_id) == 0))
	{
		slot->is_attached = true;
		number = slot->number;
	}
	pthread_mutex_unlock(&slots->lock);
	return number;
}

static UploadSlot *
slot_by_number(UploadSlots *slots, uint64_t number)
{
	for (size_t i = 0; i < UPLOADS_MAX; i++)
		if (slots->slots[i].number == number)
			return &slots->slots[i];
	return NULL;
}

UploadSlot *
upload_slots_get(UploadSlots *slots, uint64_t number)
{
	UploadSlot *slot;

	pthread_mutex_lock(&slots->lock);
	slot = number != 0 ? slot_by_number(slots, number) : NULL;
	pthread_mutex_unlock(&slots->lock);
	return slot;
}

/* Charges bytes to the budgets before they are written. */
static UploadEnd
reserve_bytes(UploadSlots *slots, UploadSlot *slot, size_t length, int64_t now_ns)
{
	const int64_t declared = slot->question.bytes;
	const uint64_t total = (uint64_t) slot->bytes + length;
	Allowance *allowance = allowance_of(slots->tenants, UPLOAD_TENANTS, tenant_key(slot->tenant));
	const uint64_t block_ns = (uint64_t) HOUR_NS / (slots->limits.hour_bytes / BLOCK);
	const uint64_t cost_ns = (length / BLOCK + 1) * block_ns;

	if (now_ns - slot->since_ns > UPLOAD_STALE_NS)
		return UPLOAD_UNKNOWN;
	if (total > slots->limits.file_bytes)
		return UPLOAD_TOO_LARGE;
	if (declared > 0 && total > (uint64_t) declared)
		return UPLOAD_LONGER;
	if (!has_space(slots, slot->tenant, length) ||
		!allowance_take(allowance, (uint64_t) now_ns, cost_ns, HOUR_NS))
		return UPLOAD_BUSY;
	slot->bytes += (int64_t) length;
	return UPLOAD_OK;
}

UploadEnd
upload_slots_write(UploadSlots *slots, uint64_t number, const uint8_t *bytes, size_t length,
				   int64_t now_ns)
{
	UploadSlot *slot = upload_slots_get(slots, number);
	UploadEnd end;

	if (slot == NULL)
		return UPLOAD_UNKNOWN;
	pthread_mutex_lock(&slots->lock);
	end = reserve_bytes(slots, slot, length, now_ns);
	pthread_mutex_unlock(&slots->lock);
	if (end != UPLOAD_OK || length == 0)
		return end;
	if (slot->fd < 0)
		slot->fd = scratch_file_open_in(slots->limits.directory);
	return slot->fd >= 0 && cache_file_write(slot->fd, bytes, length) == 0 ? UPLOAD_OK
																		   : UPLOAD_NO_DISK;
}

UploadEnd
upload_slots_check(const UploadSlot *slot)
{
	return slot->bytes == 0 || slot->bytes < slot->question.bytes ? UPLOAD_SHORTER : UPLOAD_OK;
}

void
upload_slots_end(UploadSlots *slots, uint64_t number)
{
	UploadSlot *slot;

	if (number == 0)
		return;
	pthread_mutex_lock(&slots->lock);
	slot = slot_by_number(slots, number);
	if (slot != NULL)
		slot_free(slot);
	pthread_mutex_unlock(&slots->lock);
}

static UploadRefusal
refusal_of(const char *tenant, const UploadQuestion *question)
{
	char text[IDENTITY_TENANT_MAX + sizeof(question->build_id) + sizeof(question->hash) + 2];
	UploadRefusal refusal;
	const int length =
		snprintf(text, sizeof(text), "%s %s %s", tenant, question->build_id, question->hash);

	SHA256((const unsigned char *) text, (size_t) length, refusal.digest);
	return refusal;
}

static bool
has_refusal(const UploadSlots *slots, const UploadRefusal *refusal)
{
	for (size_t i = 0; i < UPLOAD_REFUSALS; i++)
		if (memcmp(&slots->refusals[i], refusal, sizeof(*refusal)) == 0)
			return true;
	return false;
}

void
upload_slots_refuse(UploadSlots *slots, const char *tenant, const UploadQuestion *question)
{
	const UploadRefusal refusal = refusal_of(tenant, question);

	if (question->hash[0] == '\0')
		return;
	pthread_mutex_lock(&slots->lock);
	if (!has_refusal(slots, &refusal))
		slots->refusals[slots->next_refusal++ % UPLOAD_REFUSALS] = refusal;
	pthread_mutex_unlock(&slots->lock);
}

bool
upload_slots_refused(UploadSlots *slots, const char *tenant, const UploadQuestion *question)
{
	const UploadRefusal refusal = refusal_of(tenant, question);
	bool found;

	pthread_mutex_lock(&slots->lock);
	found = question->hash[0] != '\0' && has_refusal(slots, &refusal);
	pthread_mutex_unlock(&slots->lock);
	return found;
}
