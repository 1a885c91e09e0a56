/*
 * discovery.h
 *		Who finds targets: one interface of all kinds.
 *
 * A discovery works in the thread of its client: it is called when it is due and by ends of its
 * requests, waits for nothing itself, and tells what it found by groups.
 */
#ifndef COLLECTOR_DISCOVERY_H
#define COLLECTOR_DISCOVERY_H

#include <stdint.h>

#include "discovery/target_group.h"
#include "http_client/http_client.h"

typedef struct DiscoverySink
{
	/*
	 * The group is the sink's from then on. False: it had no room for it, and may have later; for
	 * one without targets there is always room.
	 */
	bool (*update)(void *context, TargetGroup *group);
	void *context;
} DiscoverySink;

typedef struct DiscoveryParts
{
	HttpClient *client;
	const char *job; /* for the log */
	DiscoverySink sink;
} DiscoveryParts;

typedef struct Discovery Discovery;

/* How a kind stands in the configuration, and what it does. */
typedef struct DiscoveryKind
{
	const char *key; /* of the list of its settings */

	/* One item of that list into zeroed room of settings_bytes. */
	ConfigRead read;
	size_t settings_bytes;

	/* NULL where memory is out. settings outlive it. */
	Discovery *(*start)(const void *settings, const DiscoveryParts *parts);
	void (*tick)(Discovery *discovery, int64_t now_ns);
	void (*stop)(Discovery *discovery);
} DiscoveryKind;

/* Begins each kind's own structure. */
struct Discovery
{
	const DiscoveryKind *kind;
	DiscoveryParts parts;
	int64_t due_ns; /* CLOCK_MONOTONIC, when tick is to be called; INT64_MAX: not by itself */
};

extern const DiscoveryKind static_discovery;
extern const DiscoveryKind file_discovery;
extern const DiscoveryKind http_discovery;
extern const DiscoveryKind dns_discovery;
extern const DiscoveryKind kubernetes_discovery;
extern const DiscoveryKind consul_discovery;

/* All kinds, ends with NULL. */
extern const DiscoveryKind *const discovery_kinds[];

/*
 * Hands a group to the sink; one that is not whole is logged instead, and the old one stays. False
 * if the sink has refused it, which has it logged: whoever can discovers it again.
 */
bool discovery_update(Discovery *discovery, TargetGroup *group);

/* Why something was not found, in the log. */
void discovery_warn(const Discovery *discovery, const char *where, const char *detail);

/* A group without targets, which removes the one of that source. */
void discovery_remove(Discovery *discovery, const char *source);

/* What static and file discovery have in common: targets and their labels, as they stand. */
typedef struct GroupSettings
{
	ConfigList targets; /* of const char *: addresses */
	ConfigList labels;	/* of ConfigPair */
} GroupSettings;

bool discovery_read_group(ConfigReader *reader, const Node *node, void *group_settings);

/* Makes a group of the settings, with a meta label unless it is NULL; NULL if out of memory. */
TargetGroup *discovery_make_group(const GroupSettings *settings, const char *source,
								  const BatchLabel *meta);

#endif
