/*
 * sources.c
 *		profstore-sources: the commands of profstore-collector that speak HTTP.
 */
#include "debuginfo/command/debuginfo.h"
#include "kubernetes/pods.h"
#include "program/command.h"
#include "program/version.h"
#include "receive/receive.h"
#include "scrape/scrape.h"
#include "serve/serve.h"
#include "symbolize/symbolize.h"
#include "symbols/worker/worker.h"

/* Options of any command. */
typedef union Options
{
	ScrapeOptions scrape;
	ReceiveOptions receive;
	ServeOptions serve;
	PodsOptions pods;
	SymbolizeOptions symbolize;
	DebuginfoOptions debuginfo;
} Options;

COMMAND(scrape, scrape)
COMMAND(receive, receive)
COMMAND(serve, serve)
COMMAND(pods, pods)
COMMAND(symbolize, symbolize)
COMMAND(debuginfo, debuginfo, call->operands, call->operand_count)

static const Command commands[] = {
	{ "scrape", "", "fetch pprof profiles from targets, configured like Parca",
	  scrape_command_flags, scrape_command_run },
	{ "receive", "", "accept profiles that clients push: OTLP, Parca's writes",
	  receive_command_flags, receive_command_run },
	{ "serve", "", "answer Grafana's Profiles Drilldown and its data source for Pyroscope",
	  serve_command_flags, serve_command_run },
	{ "pods", "", "print the pods of a node; started by the agent", pods_command_flags,
	  pods_command_run },
	{ "symbolize", "", "find names and lines of addresses that were stored without them",
	  symbolize_command_flags, symbolize_command_run },
	{ "debuginfo", " upload|extract|list|find [PATH...]",
	  "store debug information of builds for symbolize", debuginfo_command_flags,
	  debuginfo_command_run },
};

int
main(int argc, char **argv)
{
	Options options;
	const CommandTable table = { .name = "profstore-collector",
								 .purpose = "stores profiles in PostgreSQL",
								 .version = collector_build(),
								 .commands = commands,
								 .count = sizeof(commands) / sizeof(commands[0]),
								 .options = &options };

	symbolizer_worker_main(argc, argv);
	return command_main(&table, argc, argv);
}
