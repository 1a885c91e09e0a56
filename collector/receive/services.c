/*
 * services.c
 *		The table of paths and their services.
 */
#include "receive/services.h"

#include "receive/receiver.h"

#define OTLP		 "/opentelemetry.proto.collector.profiles.v1development.ProfilesService/"
#define PARCA_STORE	 "/parca.profilestore.v1alpha1.ProfileStoreService/"
#define PARCA_UPLOAD "/parca.debuginfo.v1alpha1.DebuginfoService/"
#define PYROSCOPE	 "/push.v1.PusherService/"
#define ALLOY_UPLOAD "/debuginfo.v1alpha1.DebuginfoService/"

/* Deadline of the answer to an upload: its file may wait behind large files of other tenants. */
#define STORE_MS 600000

static const Service services[] = {
	{ OTLP "Export", "POST", .is_grpc = true, .work = otlp_export },
	{ "/v1development/profiles", "POST", .work = otlp_export },
	{ "/v1/profiles", "POST", .work = otlp_export },
	{ PARCA_STORE "WriteRaw", "POST", .is_grpc = true, .retries_exhausted = true,
	  .work = parca_write_raw },
	{ "/api/profiles/writeraw", "POST", .retries_exhausted = true, .work = parca_write_raw },
	{ PARCA_STORE "Write", "POST", .is_grpc = true, .retries_exhausted = true, .is_exchange = true,
	  .work = parca_write },
	{ PARCA_STORE "WriteArrow", "POST", .is_grpc = true, .retries_exhausted = true,
	  .work = parca_write_arrow },
	{ "/api/profiles/writearrow", "POST", .retries_exhausted = true, .work = parca_write_arrow },
	{ PYROSCOPE "Push", "POST", .is_connect = true, .takes_json = true, .retries_exhausted = true,
	  .work = pyroscope_push },
	{ PYROSCOPE "Push", "POST", .is_grpc = true, .retries_exhausted = true,
	  .work = pyroscope_push },
	{ "/ingest", "POST", .is_connect = true, .takes_any = true, .work = pyroscope_ingest },
	{ "/pyroscope/ingest", "POST", .is_connect = true, .takes_any = true,
	  .work = pyroscope_ingest },
	{ "/profiling/v1/input", "POST", .is_connect = true, .takes_any = true, .work = datadog_input },
	{ "/api/v2/profile", "POST", .is_connect = true, .takes_any = true, .work = datadog_input },
	{ "/info", "GET", .is_open = true, .answer = datadog_info },
	{ PARCA_UPLOAD "ShouldInitiateUpload", "POST", .is_grpc = true, .retries_exhausted = true,
	  .is_apart = true, .work = parca_should_upload },
	{ PARCA_UPLOAD "InitiateUpload", "POST", .is_grpc = true, .retries_exhausted = true,
	  .is_apart = true, .work = parca_initiate_upload },
	{ PARCA_UPLOAD "Upload", "POST", .is_grpc = true, .retries_exhausted = true, .is_apart = true,
	  .is_stream = true, .late_ms = STORE_MS, .work = parca_upload, .left = upload_left },
	{ PARCA_UPLOAD "MarkUploadFinished", "POST", .is_grpc = true, .retries_exhausted = true,
	  .is_apart = true, .work = parca_mark_finished },
	{ ALLOY_UPLOAD "ShouldInitiateUpload", "POST", .is_connect = true, .is_apart = true,
	  .work = connect_should_upload },
	{ ALLOY_UPLOAD "Upload/", "POST", .is_connect = true, .is_apart = true, .is_stream = true,
	  .is_prefix = true, .late_ms = STORE_MS, .work = connect_upload, .left = upload_left },
	{ ALLOY_UPLOAD "UploadFinished", "POST", .is_connect = true, .is_apart = true,
	  .work = connect_upload_finished },
	{ "/grpc.health.v1.Health/Check", "POST", .is_grpc = true, .is_open = true,
	  .answer = health_check },
	{ "/-/healthy", "GET", .is_open = true, .answer = page_healthy },
	{ "/-/ready", "GET", .is_open = true, .answer = page_ready },
	{ "/metrics", "GET", .answer = page_metrics },
};

const ServiceTable receive_services = { services, sizeof(services) / sizeof(services[0]),
										receiver_told, receiver_left, NULL };
