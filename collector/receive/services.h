/*
 * services.h
 *		Declares the handler of each path of "receive".
 */
#ifndef COLLECTOR_RECEIVE_SERVICES_H
#define COLLECTOR_RECEIVE_SERVICES_H

#include "http_server/service.h"

extern const ServiceTable receive_services;

/*
 * Defined in otlp_service.c, parca_service.c, arrow_service.c, pyroscope_service.c, parca_upload.c,
 * connect_upload.c, upload_answers.c and receive_pages.c. The host must be that of a Receiver.
 */
void otlp_export(Host *host, Call *call);
void parca_write_raw(Host *host, Call *call);
void parca_write_arrow(Host *host, Call *call);
void parca_write(Host *host, Call *call);
void pyroscope_ingest(Host *host, Call *call);
void pyroscope_push(Host *host, Call *call);
void datadog_input(Host *host, Call *call);
void datadog_info(Host *host, Call *call);
void parca_should_upload(Host *host, Call *call);
void parca_initiate_upload(Host *host, Call *call);
void parca_upload(Host *host, Call *call);
void parca_mark_finished(Host *host, Call *call);
void connect_should_upload(Host *host, Call *call);
void connect_upload(Host *host, Call *call);
void connect_upload_finished(Host *host, Call *call);
void upload_left(Host *host, Call *call);
void page_metrics(Host *host, Call *call);
void health_check(Host *host, Call *call);

#endif
