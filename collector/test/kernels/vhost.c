/*
 * vhost.c
 *		vhost SECONDS: makes the kernel start a thread for this process, for vhost, and keeps it at
 *		work: it polls the queue of a device without a guest again and again.
 */
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#include <linux/vhost.h>
#include <linux/virtio_config.h>
#include <linux/virtio_ring.h>

#define QUEUES	 2
#define ENTRIES	 4
#define GUEST_ID 42

/* The guest's memory: only queues, which stay empty. */
static struct Queue
{
	struct vring_desc descriptors[ENTRIES];
	uint16_t available[3 + ENTRIES];
	uint16_t used[4 + 4 * ENTRIES] __attribute__((aligned(16)));
} queues[QUEUES] __attribute__((aligned(4096)));

static void
tell(int device, unsigned long what, const void *argument)
{
	if (ioctl(device, what, argument) != 0)
	{
		perror("vhost");
		exit(1);
	}
}

static void
add_queue(int device, unsigned number, int kick)
{
	struct Queue *queue = &queues[number];
	const struct vhost_vring_state size = { number, ENTRIES };
	const struct vhost_vring_state first = { number, 0 };
	const struct vhost_vring_file file = { number, kick };
	const struct vhost_vring_addr place = {
		.index = number,
		.desc_user_addr = (uintptr_t) queue->descriptors,
		.avail_user_addr = (uintptr_t) queue->available,
		.used_user_addr = (uintptr_t) queue->used,
	};

	tell(device, VHOST_SET_VRING_NUM, &size);
	tell(device, VHOST_SET_VRING_BASE, &first);
	tell(device, VHOST_SET_VRING_ADDR, &place);
	tell(device, VHOST_SET_VRING_KICK, &file);
}

int
main(int argc, char **argv)
{
	static union
	{
		struct vhost_memory memory;
		char bytes[sizeof(struct vhost_memory) + sizeof(struct vhost_memory_region)];
	} guest;
	const uint64_t features = UINT64_C(1) << VIRTIO_F_VERSION_1;
	const uint64_t one = 1;
	const uint64_t id = GUEST_ID;
	const int running = 1;
	time_t end = time(NULL) + (argc > 1 ? atoi(argv[1]) : 1);
	int device = open("/dev/vhost-vsock", O_RDWR);
	int kick = eventfd(0, 0);

	if (device < 0 || kick < 0)
	{
		perror("vhost");
		return 1;
	}
	guest.memory.nregions = 1;
	guest.memory.regions[0] = (struct vhost_memory_region){ .memory_size = sizeof(queues),
															.userspace_addr = (uintptr_t) queues };
	tell(device, VHOST_SET_OWNER, NULL);
	tell(device, VHOST_SET_FEATURES, &features);
	tell(device, VHOST_SET_MEM_TABLE, &guest.memory);
	for (unsigned i = 0; i < QUEUES; i++)
		add_queue(device, i, kick);
	tell(device, VHOST_VSOCK_SET_GUEST_CID, &id);
	tell(device, VHOST_VSOCK_SET_RUNNING, &running);
	while (time(NULL) < end)
	{
		if (write(kick, &one, sizeof(one)) != sizeof(one))
			return 1;
	}
	return 0;
}
