/*
 * dns.c
 *		dns_sd_configs: addresses from DNS records of names, with one group for each name.
 *
 * The resolver blocks, so it runs on a thread that no other thread waits for. Thread and discovery
 * share their data; whichever ends last frees it. A name that does not exist has no targets; if no
 * server answers, the old targets stay.
 */
#include <arpa/inet.h>
#include <arpa/nameser.h>
#include <netdb.h>
#include <netinet/in.h>
#include <pthread.h>
#include <resolv.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "discovery/discovery.h"

#define REFRESH_MS_DEFAULT 30000
/* interval at which the discovery checks whether the thread is done */
#define LOOK_NS			   INT64_C(100000000)
#define ANSWER_BYTES	   65535
#define RETRY_S			   3
#define TRIES			   2

typedef struct DnsSettings
{
	ConfigList names; /* list of const char * */
	const char *type;
	int64_t port; /* 0: not set */
	int64_t refresh_ms;
} DnsSettings;

/*
 * Input and results of the thread. The thread must not use the settings, because these may be freed
 * while it runs.
 */
typedef struct Lookup
{
	pthread_mutex_t lock;
	int holders; /* references; lock guards this and the next two fields */
	bool done;
	char **names;
	TargetGroup **groups; /* one for each name; NULL: the query failed */
	char **errors;
	size_t count;
	int type; /* type of records, ns_t_* */
	int port;
} Lookup;

typedef struct DnsDiscovery
{
	Discovery base;
	const DnsSettings *settings;
	Lookup *lookup; /* NULL: no thread is running */
	int64_t next_ns;
} DnsDiscovery;

static int
record_type(const char *name)
{
	static const struct
	{
		const char *name;
		int type;
	} types[] = { { "SRV", ns_t_srv },
				  { "A", ns_t_a },
				  { "AAAA", ns_t_aaaa },
				  { "MX", ns_t_mx },
				  { "NS", ns_t_ns } };

	for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++)
		if (strcasecmp(types[i].name, name) == 0)
			return types[i].type;
	return -1;
}

static bool
dns_read_settings(ConfigReader *reader, const Node *node, void *field)
{
	static const ConfigField fields[] = {
		{ "names", config_read_texts, offsetof(DnsSettings, names) },
		{ "type", config_read_text, offsetof(DnsSettings, type) },
		{ "port", config_read_number, offsetof(DnsSettings, port) },
		{ "refresh_interval", config_read_duration, offsetof(DnsSettings, refresh_ms) },
	};
	DnsSettings *settings = field;

	*settings = (DnsSettings){ .type = "SRV", .refresh_ms = REFRESH_MS_DEFAULT };
	if (!config_read_fields(reader, node, CONFIG_FIELDS(fields), settings))
		return false;
	if (settings->names.count == 0)
		return config_fail(reader, node, "names must not be empty");
	if (record_type(settings->type) < 0)
		return config_fail(reader, node, "The type must be one of SRV, A, AAAA, MX and NS");
	if (settings->port > 65535 || (settings->port == 0 && record_type(settings->type) != ns_t_srv))
		return config_fail(reader, node, "All types except SRV require a port");
	return settings->refresh_ms > 0 ||
		   config_fail(reader, node, "The interval must be longer than 0");
}

static Discovery *
dns_start(const void *settings, const DiscoveryParts *parts)
{
	DnsDiscovery *discovery = calloc(1, sizeof(DnsDiscovery));

	if (discovery == NULL)
		return NULL;
	discovery->base = (Discovery){ .kind = &dns_discovery, .parts = *parts };
	discovery->settings = settings;
	return &discovery->base;
}

/* --- the thread --- */

/* Releases a reference; the last one frees the lookup. */
static void
dns_release(Lookup *lookup)
{
	int left;

	/* The thread may outlive the discovery, so the last holder frees the memory. */
	pthread_mutex_lock(&lookup->lock);
	left = --lookup->holders;
	pthread_mutex_unlock(&lookup->lock);
	if (left > 0)
		return;
	for (size_t i = 0; i < lookup->count; i++)
	{
		free(lookup->names[i]);
		free(lookup->errors[i]);
		target_group_free(lookup->groups[i]);
	}
	pthread_mutex_destroy(&lookup->lock);
	free(lookup->names);
	free(lookup->groups);
	free(lookup->errors);
	free(lookup);
}

static void
dns_add_target(TargetGroup *group, const char *name, const char *host, int port, const char *meta)
{
	TargetLabels *target = target_group_add(group);
	char address[NS_MAXDNAME + 16];
	char number[8];

	snprintf(address, sizeof(address), strchr(host, ':') != NULL ? "[%s]:%d" : "%s:%d", host, port);
	snprintf(number, sizeof(number), "%d", port);
	target_group_label(group, target, "__address__", address);
	target_group_label(group, target, "__meta_dns_name", name);
	target_group_meta(group, target, "__meta_dns_", meta, meta[0] == '\0' ? NULL : host);
	if (strcmp(meta, "srv_record_target") == 0)
		target_group_label(group, target, "__meta_dns_srv_record_port", number);
}

/* Reads a name in a record's data, after the given number of bytes. */
static bool
dns_read_name(const ns_msg *message, const ns_rr *record, size_t skip, char host[NS_MAXDNAME])
{
	const unsigned char *data = ns_rr_rdata(*record);

	return ns_rr_rdlen(*record) > skip && dn_expand(ns_msg_base(*message), ns_msg_end(*message),
													data + skip, host, NS_MAXDNAME) > 0;
}

/*
 * Adds a target for a record of the requested type. The record's data comes from the network, so it
 * is checked.
 */
static void
dns_take_record(const Lookup *lookup, const char *name, const ns_msg *message, const ns_rr *record,
				TargetGroup *group)
{
	const unsigned char *data = ns_rr_rdata(*record);
	char host[NS_MAXDNAME];

	switch (lookup->type)
	{
		case ns_t_a:
		case ns_t_aaaa:
			/* The length of an address must match its type. */
			if (ns_rr_rdlen(*record) == (lookup->type == ns_t_a ? 4 : 16) &&
				inet_ntop(lookup->type == ns_t_a ? AF_INET : AF_INET6, data, host, sizeof(host)))
				dns_add_target(group, name, host, lookup->port, "");
			break;
		case ns_t_srv:
			/* Priority, weight and port come before the name. */
			if (dns_read_name(message, record, 6, host))
				dns_add_target(group, name, host, ns_get16(data + 4), "srv_record_target");
			break;
		case ns_t_mx:
			/* The preference comes before the name. */
			if (dns_read_name(message, record, 2, host))
				dns_add_target(group, name, host, lookup->port, "mx_record_target");
			break;
		case ns_t_ns:
			if (dns_read_name(message, record, 0, host))
				dns_add_target(group, name, host, lookup->port, "ns_record_target");
			break;
		default:
			break;
	}
}

/* Takes all records of an answer. Returns false if one is invalid. */
static bool
dns_take_answer(const Lookup *lookup, const char *name, const unsigned char *bytes, int length,
				TargetGroup *group)
{
	ns_msg message;
	ns_rr record;

	/*
	 * res_nsearch() returns the length of the whole answer, even if the buffer holds only a part.
	 */
	if (length > ANSWER_BYTES || ns_initparse(bytes, length, &message) != 0)
		return false;
	for (int i = 0; i < ns_msg_count(message, ns_s_an); i++)
	{
		if (ns_parserr(&message, ns_s_an, i, &record) != 0)
			return false;
		/* The answer may contain CNAME records, too. */
		if ((int) ns_rr_type(record) == lookup->type)
			dns_take_record(lookup, name, &message, &record, group);
	}
	return true;
}

static bool
is_none(const struct __res_state *resolver)
{
	return resolver->res_h_errno == HOST_NOT_FOUND || resolver->res_h_errno == NO_DATA;
}

/* Fills the group of a name. Returns NULL; on failure, the reason. */
static const char *
dns_ask(const Lookup *lookup, struct __res_state *resolver, const char *name, TargetGroup *group)
{
	unsigned char *bytes = malloc(ANSWER_BYTES);
	const char *error = NULL;
	int length;

	if (bytes == NULL || group == NULL)
	{
		free(bytes);
		return "Out of memory.";
	}
	length = res_nsearch(resolver, name, ns_c_in, lookup->type, bytes, ANSWER_BYTES);
	/* A name without records gives a group without targets, not an error. */
	if (length < 0 && !is_none(resolver))
		error = "No server answers.";
	else if (length >= 0 && !dns_take_answer(lookup, name, bytes, length, group))
		error = "The server's answer is invalid.";
	free(bytes);
	return error;
}

static void
look_up(Lookup *lookup, struct __res_state *resolver, size_t i)
{
	TargetGroup *group = target_group_create(lookup->names[i]);
	const char *error = dns_ask(lookup, resolver, lookup->names[i], group);

	if (error == NULL)
	{
		lookup->groups[i] = group;
		return;
	}
	target_group_free(group);
	lookup->errors[i] = strdup(error);
}

/* The thread: resolves all names, and marks the lookup as done. */
static void *
lookup_main(void *argument)
{
	Lookup *lookup = argument;
	struct __res_state resolver;

	memset(&resolver, 0, sizeof(resolver));
	if (res_ninit(&resolver) == 0)
	{
		resolver.retrans = RETRY_S;
		resolver.retry = TRIES;
		for (size_t i = 0; i < lookup->count; i++)
			look_up(lookup, &resolver, i);
		res_nclose(&resolver);
	}
	pthread_mutex_lock(&lookup->lock);
	lookup->done = true;
	pthread_mutex_unlock(&lookup->lock);
	dns_release(lookup);
	return NULL;
}

/* --- the discovery --- */

static Lookup *
make_lookup(const DnsSettings *settings)
{
	const char *const *names = settings->names.items;
	Lookup *lookup = calloc(1, sizeof(Lookup));

	if (lookup == NULL)
		return NULL;
	pthread_mutex_init(&lookup->lock, NULL);
	lookup->holders = 1;
	lookup->type = record_type(settings->type);
	lookup->port = (int) settings->port;
	lookup->names = calloc(settings->names.count, sizeof(char *));
	lookup->groups = calloc(settings->names.count, sizeof(TargetGroup *));
	lookup->errors = calloc(settings->names.count, sizeof(char *));
	for (size_t i = 0; lookup->names != NULL && lookup->groups != NULL && lookup->errors != NULL &&
					   i < settings->names.count;
		 i++)
	{
		lookup->names[i] = strdup(names[i]);
		if (lookup->names[i] == NULL)
			break;
		lookup->count++;
	}
	if (lookup->count == settings->names.count)
		return lookup;
	dns_release(lookup);
	return NULL;
}

/* Starts a thread that owns one of two references to the lookup. */
static void
dns_begin(DnsDiscovery *discovery)
{
	Lookup *lookup = make_lookup(discovery->settings);
	pthread_t thread;

	if (lookup == NULL)
	{
		discovery_warn(&discovery->base, "", "Out of memory.");
		return;
	}
	/* The thread has a reference of its own. */
	lookup->holders++;
	if (pthread_create(&thread, NULL, lookup_main, lookup) != 0)
	{
		discovery_warn(&discovery->base, "", "Could not start a thread.");
		/* One reference is that of the thread, which does not run. */
		dns_release(lookup);
		dns_release(lookup);
		return;
	}
	pthread_detach(thread);
	discovery->lookup = lookup;
}

static bool
is_done(Lookup *lookup)
{
	bool done;

	pthread_mutex_lock(&lookup->lock);
	done = lookup->done;
	pthread_mutex_unlock(&lookup->lock);
	return done;
}

static void
take_results(DnsDiscovery *discovery)
{
	Lookup *lookup = discovery->lookup;

	for (size_t i = 0; i < lookup->count; i++)
	{
		if (lookup->groups[i] != NULL)
			discovery_update(&discovery->base, lookup->groups[i]);
		else
			discovery_warn(&discovery->base, lookup->names[i],
						   lookup->errors[i] != NULL ? lookup->errors[i] : "No server answers.");
		lookup->groups[i] = NULL;
	}
	dns_release(lookup);
	discovery->lookup = NULL;
}

static void
dns_tick(Discovery *base, int64_t now_ns)
{
	DnsDiscovery *discovery = (DnsDiscovery *) base;

	if (discovery->lookup != NULL && is_done(discovery->lookup))
		take_results(discovery);
	else if (discovery->lookup == NULL && now_ns >= discovery->next_ns)
	{
		discovery->next_ns = now_ns + discovery->settings->refresh_ms * 1000000;
		dns_begin(discovery);
	}
	base->due_ns = discovery->lookup != NULL ? now_ns + LOOK_NS : discovery->next_ns;
}

static void
dns_stop(Discovery *base)
{
	DnsDiscovery *discovery = (DnsDiscovery *) base;

	if (discovery->lookup != NULL)
		dns_release(discovery->lookup);
	free(discovery);
}

const DiscoveryKind dns_discovery = { .key = "dns_sd_configs",
									  .read = dns_read_settings,
									  .settings_bytes = sizeof(DnsSettings),
									  .start = dns_start,
									  .tick = dns_tick,
									  .stop = dns_stop };
