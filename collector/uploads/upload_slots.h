/*
 * upload_slots.h
 *		Uploads under way: which build, of which client, and the bytes that have arrived.
 *
 * The bytes are in a file without a name, so that nothing remains of a receiver that was killed. A
 * slot belongs to the call that receives its bytes, from upload_slots_attach() to
 * upload_slots_end(): no other thread touches its file.
 *
 * A client pays for itself alone: it has a few slots, half of the space, and a limit of bytes per
 * hour.
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
#define UPLOAD_STALE_NS	  (INT64_C(17) * 60 * 1000000000) /* 15 min, and 2 for clocks */
#define UPLOAD_UNBEGUN_NS (INT64_C(5) * 60 * 1000000000)  /* until the first byte */

typedef struct UploadLimits
{
	const char *directory; /* of the files */
	size_t file_bytes;
	size_t space_bytes; /* of all uploads under way; a tenant may use half */
	size_t hour_bytes;	/* of a tenant in an hour */
} UploadLimits;

typedef enum UploadEnd
{
	UPLOAD_OK,
	UPLOAD_UNDER_WAY, /* another one of this build by this tenant */
	UPLOAD_BUSY,	  /* too many, or too many bytes: later */
	UPLOAD_TOO_LARGE, /* for --max-upload */
	UPLOAD_UNKNOWN,	  /* no upload was initiated, or it is stale */
	UPLOAD_LONGER,	  /* than was declared */
	UPLOAD_SHORTER,
	UPLOAD_NO_DISK
} UploadEnd;

typedef struct UploadSlot
{
	uint64_t number; /* 0: free */
	char upload_id[UPLOAD_ID_BYTES];
	char tenant[IDENTITY_TENANT_MAX];
	UploadQuestion question;
	int64_t bytes; /* received */
	int64_t since_ns;
	bool is_attached;
	int fd; /* -1: no byte has arrived */
} UploadSlot;

/* A file that named nothing, which the tenant's next agent need not send: tenant, build, hash. */
typedef struct UploadRefusal
{
	uint8_t digest[32];
} UploadRefusal;

typedef struct UploadSlots
{
	UploadLimits limits;
	pthread_mutex_t lock; /* guards the fields below, but for what belongs to a call */
	UploadSlot slots[UPLOADS_MAX];
	uint64_t last_number;
	KeyedAllowance tenants[UPLOAD_TENANTS]; /* of bytes, by hash of the tenant's name */
	UploadRefusal refusals[UPLOAD_REFUSALS];
	size_t next_refusal;
} UploadSlots;

void upload_slots_init(UploadSlots *slots, const UploadLimits *limits);
void upload_slots_fini(UploadSlots *slots); /* no call may be attached */

/* Returns whether an upload of this build by this tenant is under way. */
bool upload_slots_has(UploadSlots *slots, const char *tenant, const char *build_id, int64_t now_ns);

/*
 * Begins an upload: UPLOAD_OK with the id, UPLOAD_UNDER_WAY, UPLOAD_BUSY or UPLOAD_TOO_LARGE. bytes
 * of the question is the declared size; 0: not declared.
 */
UploadEnd upload_slots_begin(UploadSlots *slots, const char *tenant, const UploadQuestion *question,
							 int64_t now_ns, char upload_id[UPLOAD_ID_BYTES]);

/*
 * Gives an upload to the caller. upload_id "": by build ID alone. Returns its number; 0 if there is
 * none of this tenant, or another call has it.
 */
uint64_t upload_slots_attach(UploadSlots *slots, const char *tenant, const char *build_id,
							 const char *upload_id, int64_t now_ns);

/* Returns an attached slot, which is the caller's until upload_slots_end(). */
UploadSlot *upload_slots_get(UploadSlots *slots, uint64_t number);

/* Appends bytes. Returns UPLOAD_OK, UPLOAD_UNKNOWN, UPLOAD_LONGER, UPLOAD_TOO_LARGE, … */
UploadEnd upload_slots_write(UploadSlots *slots, uint64_t number, const uint8_t *bytes,
							 size_t length, int64_t now_ns);

/* Checks the size at the end of the bytes. */
UploadEnd upload_slots_check(const UploadSlot *slot);

/* Frees a slot and closes its file. Accepts 0. */
void upload_slots_end(UploadSlots *slots, uint64_t number);

/* Remembers a file, by the client's hash, that named nothing; or asks for it. */
void upload_slots_refuse(UploadSlots *slots, const char *tenant, const UploadQuestion *question);
bool upload_slots_refused(UploadSlots *slots, const char *tenant, const UploadQuestion *question);

#endif
