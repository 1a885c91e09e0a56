/*
 * sources.c
 *		profstore-sources: the commands of profstore-collector that speak HTTP.
 */
#include "base/command.h"
#include "database/session.h"
#include "scrape/scrape.h"

/* Options of any command. */
typedef union Options
{
	ScrapeOptions scrape;
} Options;

static size_t
scrape_command_flags(void *room, Flag *flags)
{
	return scrape_flags(&((Options *) room)->scrape, flags);
}

static ExitCode
scrape_command_run(const CommandCall *call)
{
	const Options *options = call->options;

	log_apply(&options->scrape.log);
	return scrape_run(&options->scrape);
}

static const Command commands[] = {
	{ "scrape", "", "fetch profiles of pprof from targets, as Parca's configuration says",
	  scrape_command_flags, scrape_command_run },
};

int
main(int argc, char **argv)
{
	Options options;
	const CommandTable table = { .name = "profstore-collector",
								 .purpose = "stores profiles in PostgreSQL",
								 .version = COLLECTOR_VERSION,
								 .commands = commands,
								 .count = sizeof(commands) / sizeof(commands[0]),
								 .options = &options };

	return command_main(&table, argc, argv);
}
