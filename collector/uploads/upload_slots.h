/*
 * upload_slots.h
 *		The current uploads: the build and client of each, and the bytes that have arrived.
 *
 * The bytes are in a file without a name, so a receiver that is killed leaves nothing on disk. From
 * upload_slots_attach() to upload_slots_end() a slot belongs to the call that receives its bytes,
 * and no other thread uses its file.
 *
 * Each client has its own limits, so it cannot block others: a few slots, half of the space, and a
 * number of bytes per hour.
 */
#ifndef COLLECTOR_UPLOAD_SLOTS_H
#define COLLECTOR_UPLOAD_SLOTS_H

#include <pthread.h>

#include "base/allowance.h"
#include "http_server/identity.h"
#include "uploads/upload_messages.h"

#define UPLOADS_MAX		  16
#define UPLOADS_OF_TENANT 4
#define UPLOAD_TENANTS	  64
#define UPLOAD_REFUSALS	  1024
/* 15 min, plus 2 min for differences of clocks */
#define UPLOAD_STALE_NS	  (INT64_C(17) * 60 * 1000000000)
/* time until the first byte must arrive */
#define UPLOAD_UNBEGUN_NS (INT64_C(5) * 60 * 1000000000)

typedef struct UploadLimits
{
	const char *directory; /* directory of the files */
	size_t file_bytes;
	size_t space_bytes; /* limit of all current uploads; a tenant may use half */
	size_t hour_bytes;	/* limit of a tenant's bytes in an hour */
} UploadLimits;

typedef enum UploadEnd
{
	UPLOAD_OK,
	UPLOAD_UNDER_WAY, /* the tenant has another upload of this build */
	UPLOAD_BUSY,	  /* there are too many uploads or bytes at present */
	UPLOAD_TOO_LARGE, /* exceeds --max-upload */
	UPLOAD_UNKNOWN,	  /* no upload was initiated, or it has expired */
	UPLOAD_LONGER,	  /* more bytes arrived than were declared */
	UPLOAD_SHORTER,
	UPLOAD_NO_DISK
} UploadEnd;

typedef struct UploadSlot
{
	uint64_t number; /* 0: the slot is free */
	char upload_id[UPLOAD_ID_BYTES];
	char tenant[IDENTITY_TENANT_MAX];
	UploadQuestion question;
	int64_t bytes; /* number of bytes received */
	int64_t since_ns;
	bool is_attached;
	int fd; /* -1: no byte has arrived yet */
} UploadSlot;

/* A file that contained no names. The tenant's next agent need not send it: tenant, build, hash. */
typedef struct UploadRefusal
{
	uint8_t digest[32];
} UploadRefusal;

typedef struct UploadSlots
{
	UploadLimits limits;
	pthread_mutex_t lock; /* guards the fields below, except data that belongs to a call */
	UploadSlot slots[UPLOADS_MAX];
	uint64_t last_number;
	KeyedAllowance tenants[UPLOAD_TENANTS]; /* allowances of bytes, by hash of the tenant's name */
	UploadRefusal refusals[UPLOAD_REFUSALS];
	size_t next_refusal;
} UploadSlots;

void upload_slots_init(UploadSlots *slots, const UploadLimits *limits);
void upload_slots_fini(UploadSlots *slots); /* no call may be attached */

/* Returns true if the tenant has a current upload of this build. */
bool upload_slots_has(UploadSlots *slots, const char *tenant, const char *build_id, int64_t now_ns);

/*
 * Begins an upload. Returns UPLOAD_OK with the id; UPLOAD_UNDER_WAY, UPLOAD_BUSY or
 * UPLOAD_TOO_LARGE. The member bytes of the question is the declared size, or 0
 * if none was declared.
 */
UploadEnd upload_slots_begin(UploadSlots *slots, const char *tenant, const UploadQuestion *question,
							 int64_t now_ns, char upload_id[UPLOAD_ID_BYTES]);

/*
 * Gives an upload to the caller: the one with this id, or if upload_id is "" the one with this
 * build ID. Returns its number; 0 if the tenant has none, or if another call has it.
 */
uint64_t upload_slots_attach(UploadSlots *slots, const char *tenant, const char *build_id,
							 const char *upload_id, int64_t now_ns);

/* Returns an attached slot, which belongs to the caller until upload_slots_end(). */
UploadSlot *upload_slots_get(UploadSlots *slots, uint64_t number);

/* Appends bytes. Returns UPLOAD_OK, UPLOAD_UNKNOWN, UPLOAD_LONGER, UPLOAD_TOO_LARGE, … */
UploadEnd upload_slots_write(UploadSlots *slots, uint64_t number, const uint8_t *bytes,
							 size_t length, int64_t now_ns);

/* Checks the size after the last byte has arrived. */
UploadEnd upload_slots_check(const UploadSlot *slot);

/* Frees a slot and closes its file. Accepts 0. */
void upload_slots_end(UploadSlots *slots, uint64_t number);

/*
 * Remembers, by the hash that the client sent, a file that contained no names.
 * upload_slots_refused() tests for such a file.
 */
void upload_slots_refuse(UploadSlots *slots, const char *tenant, const UploadQuestion *question);
bool upload_slots_refused(UploadSlots *slots, const char *tenant, const UploadQuestion *question);

#endif
