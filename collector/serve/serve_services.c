/*
 * serve_services.c
 *		The table of paths and their services, and the pages.
 */
#include "serve/serve_services.h"

#include "serve/asked.h"

#define QUERIER	 "/querier.v1.QuerierService/"
#define SETTINGS "/settings.v1."

static void
serve_fill_figures(void *context, Figures *figures)
{
	const Serving *serving = context;

	metrics_put_host(figures, &serving->host.metrics,
					 atomic_load(&serving->host.memory.used_bytes));
#define X(name, help) \
	figures_add_counter(figures, #name, help, atomic_load(&serving->metrics.name));
	SERVE_METRICS(X)
#undef X
}

static void
page_serve_metrics(Host *host, Call *call)
{
	page_figures(call, "serve", serve_fill_figures, host);
}

#define CONNECT(path, handler)                                                                  \
	{                                                                                           \
		path, "POST", .is_connect = true, .takes_json = true, .is_apart = true, .work = handler \
	}
#define GET(path, handler)                                                                    \
	{                                                                                         \
		path, "GET", .is_connect = true, .takes_any = true, .is_apart = true, .work = handler \
	}

/*
 * Drilldown also requests settings and recording rules, and gives up if these methods are not
 * implemented; the answers are empty.
 */
static const Service services[] = {
	CONNECT(QUERIER "ProfileTypes", querier_profile_types),
	CONNECT(QUERIER "LabelNames", querier_label_names),
	CONNECT(QUERIER "LabelValues", querier_label_values),
	CONNECT(QUERIER "Series", querier_series),
	CONNECT(QUERIER "SelectSeries", querier_select_series),
	CONNECT(QUERIER "SelectMergeStacktraces", querier_merge_stacktraces),
	CONNECT(QUERIER "SelectMergeSpanProfile", querier_merge_span_profile),
	CONNECT(QUERIER "SelectMergeProfile", querier_merge_profile),
	CONNECT(QUERIER "Diff", querier_diff),
	CONNECT(QUERIER "GetProfileStats", querier_profile_stats),
	CONNECT(SETTINGS "SettingsService/Get", querier_nothing),
	CONNECT(SETTINGS "RecordingRulesService/ListRecordingRules", querier_nothing),
	GET("/pyroscope/render", render),
	GET("/pyroscope/render-diff", render_diff),
	{ "/-/healthy", "GET", .is_open = true, .answer = page_healthy },
	{ "/metrics", "GET", .is_open = true, .answer = page_serve_metrics },
};

const ServiceTable serve_services = { services, sizeof(services) / sizeof(services[0]), NULL, NULL,
									  asked_answered };
