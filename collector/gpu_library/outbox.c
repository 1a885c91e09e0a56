/*
 * outbox.c
 *		Hands a window over to the collector.
 */
#include "gpu_library/outbox.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "gpu_library/device.h"
#include "gpu_library/names.h"
#include "gpu_library/probes.h"

/* Limit of the kernels whose sums are sent separately; the smaller sums are sent as one. */
#define SUMS_TOLD	  512
#define TELL_NAMES_NS UINT64_C(10000000000)

static struct pfs_gpu_row outbox_rows[1 + PFS_GPU_WINDOW_ROWS];
static uint32_t outbox_count;

static void
outbox_add(const struct pfs_gpu_row *row)
{
	if (outbox_count < sizeof(outbox_rows) / sizeof(outbox_rows[0]))
		outbox_rows[outbox_count++] = *row;
}

static int
compare_sums(const void *a, const void *b)
{
	const struct pfs_gpu_row *left = a;
	const struct pfs_gpu_row *right = b;

	/* copies first: they are few, and have no name to be merged under */
	if ((left->kind == PFS_GPU_ROW_KERNELS) != (right->kind == PFS_GPU_ROW_KERNELS))
		return left->kind == PFS_GPU_ROW_KERNELS ? 1 : -1;
	return (left->ns < right->ns) - (left->ns > right->ns);
}

/* Adds the sums, and merges those of the kernels that took the least time, by device. */
static void
outbox_add_sums(RowTable *sums)
{
	static struct pfs_gpu_row others[PFS_GPU_DEVICES_MAX];

	memset(others, 0, sizeof(others));
	if (sums->count > 1)
		qsort(sums->rows, sums->count, sizeof(*sums->rows), compare_sums);
	for (uint32_t i = 0; i < sums->count; i++)
	{
		const struct pfs_gpu_row *row = &sums->rows[i];
		struct pfs_gpu_row *other = &others[row->device % PFS_GPU_DEVICES_MAX];

		if (i < SUMS_TOLD || row->kind != PFS_GPU_ROW_KERNELS)
		{
			outbox_add(row);
			continue;
		}
		other->kind = row->kind;
		other->version = row->version;
		other->device = row->device;
		other->name = PFS_GPU_OTHER_NAME;
		other->count += row->count;
		other->ns += row->ns;
	}
	for (uint32_t i = 0; i < PFS_GPU_DEVICES_MAX; i++)
	{
		if (others[i].count > 0)
			outbox_add(&others[i]);
	}
}

/* Adds the identities of the devices that the rows name. */
static void
outbox_add_devices(void)
{
	bool is_told[PFS_GPU_DEVICES_MAX] = { false };
	uint32_t count = outbox_count;

	for (uint32_t i = 1; i < count; i++)
	{
		struct pfs_gpu_row row = { .kind = PFS_GPU_ROW_DEVICE,
								   .version = PFS_GPU_ROW_VERSION,
								   .device = outbox_rows[i].device };

		if (!is_told[row.device] && device_uuid(row.device, row.uuid))
			outbox_add(&row);
		is_told[row.device] = true;
	}
}

/* Adds a name in parts, if all of them have room. */
static void
outbox_add_name(uint32_t number, uint64_t now_ns)
{
	KernelName *name = name_of(number);
	uint32_t parts;

	if (name == NULL || (name->sent_ns != 0 && now_ns - name->sent_ns < TELL_NAMES_NS))
		return;
	parts = (name->length + PFS_GPU_NAME_PART - 1) / PFS_GPU_NAME_PART;
	if (outbox_count + parts > sizeof(outbox_rows) / sizeof(outbox_rows[0]))
		return;
	for (uint32_t offset = 0; offset < name->length; offset += PFS_GPU_NAME_PART)
	{
		struct pfs_gpu_row row = { .kind = PFS_GPU_ROW_NAME,
								   .version = PFS_GPU_ROW_VERSION,
								   .name = number,
								   .part = { .offset = offset, .length = name->length } };
		uint32_t left = name->length - offset;

		memcpy(row.part.text, name->text + offset,
			   left < PFS_GPU_NAME_PART ? left : PFS_GPU_NAME_PART);
		outbox_add(&row);
	}
	name->sent_ns = now_ns;
}

void
outbox_hand_over(struct pfs_gpu_row *head, WindowTotals *totals, uint64_t now_ns)
{
	uint32_t named;

	outbox_count = 0;
	outbox_add(head);
	outbox_add_sums(&totals->sums);
	named = outbox_count;
	outbox_add_devices();
	for (uint32_t i = 0; i < totals->kept_rows.count; i++)
		outbox_add(&totals->kept_rows.rows[i]);
	for (uint32_t i = 1; i < named; i++)
	{
		if (outbox_rows[i].kind == PFS_GPU_ROW_KERNELS)
			outbox_add_name(outbox_rows[i].name, now_ns);
	}
	outbox_rows[0].window.rows = outbox_count - 1;
	for (uint32_t i = 0; i < outbox_count; i += PFS_GPU_ROWS_MAX)
	{
		uint32_t left = outbox_count - i;

		pfs_gpu_rows(&outbox_rows[i], left < PFS_GPU_ROWS_MAX ? left : PFS_GPU_ROWS_MAX);
	}
}
