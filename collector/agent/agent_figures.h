/*
 * agent_figures.h
 *		The figures of a running agent.
 */
#ifndef COLLECTOR_AGENT_FIGURES_H
#define COLLECTOR_AGENT_FIGURES_H

#include "agent/flusher/flusher.h"
#include "agent/reader/reader.h"
#include "batch/losses.h"
#include "kernel/sampler.h"
#include "program/figures.h"
#include "writer/writer.h"

typedef struct AgentFigureSources
{
	const Sampler *sampler;
	const Reader *reader;
	const Flusher *flusher;
	Losses *losses;
	Writer *writer;
} AgentFigureSources;

/* Adds the agent's figures. Main thread. */
void agent_figures_add(const AgentFigureSources *sources, Figures *figures);

/* Adds all losses by reason. */
void agent_figures_add_losses(Losses *losses, Figures *figures);

#endif
