/*
 * serve_services.h
 *		Declares the handler of each path of "serve".
 */
#ifndef COLLECTOR_SERVE_SERVE_SERVICES_H
#define COLLECTOR_SERVE_SERVE_SERVICES_H

#include "http_server/service.h"

extern const ServiceTable serve_services;

/* Defined in querier.c, render.c and serve_services.c. The host must be that of a Serving. */
void querier_profile_types(Host *host, Call *call);
void querier_label_names(Host *host, Call *call);
void querier_label_values(Host *host, Call *call);
void querier_series(Host *host, Call *call);
void querier_select_series(Host *host, Call *call);
void querier_merge_stacktraces(Host *host, Call *call);
void querier_merge_span_profile(Host *host, Call *call);
void querier_merge_profile(Host *host, Call *call);
void querier_diff(Host *host, Call *call);
void querier_profile_stats(Host *host, Call *call);
void querier_nothing(Host *host, Call *call); /* an empty answer */
void render(Host *host, Call *call);
void render_diff(Host *host, Call *call);

#endif
