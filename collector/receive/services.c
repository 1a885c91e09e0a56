/*
 * services.c
 *		The table of paths.
 */
#include "receive/services.h"

#include <string.h>

#define OTLP		 "/opentelemetry.proto.collector.profiles.v1development.ProfilesService/"
#define PARCA_STORE	 "/parca.profilestore.v1alpha1.ProfileStoreService/"
#define PARCA_UPLOAD "/parca.debuginfo.v1alpha1.DebuginfoService/"

static const Service services[] = {
	{ OTLP "Export", "POST", true, false, NULL, otlp_export },
	{ "/v1development/profiles", "POST", false, false, NULL, otlp_export },
	{ "/v1/profiles", "POST", false, false, NULL, otlp_export },
	{ PARCA_STORE "WriteRaw", "POST", true, false, NULL, parca_write_raw },
	{ "/api/profiles/writeraw", "POST", false, false, NULL, parca_write_raw },
	{ PARCA_UPLOAD "ShouldInitiateUpload", "POST", true, false, parca_decline_upload, NULL },
	{ "/grpc.health.v1.Health/Check", "POST", true, true, health_check, NULL },
	{ "/-/healthy", "GET", false, true, page_healthy, NULL },
	{ "/-/ready", "GET", false, true, page_ready, NULL },
	{ "/metrics", "GET", false, false, page_metrics, NULL },
};

const Service *
service_find(const char *path, bool is_grpc)
{
	for (size_t i = 0; i < sizeof(services) / sizeof(services[0]); i++)
		if (services[i].is_grpc == is_grpc && strcmp(services[i].path, path) == 0)
			return &services[i];
	return NULL;
}
