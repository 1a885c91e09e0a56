/*
 * settings.c
 *		Reads the settings from the environment.
 */
#include "gpu_library/settings.h"

#include <stdlib.h>
#include <string.h>

#define BUDGET_DEFAULT	  0.005
#define BUDGET_MAX		  100
#define WINDOW_DEFAULT_MS 100
#define WINDOW_MIN_MS	  10
#define WINDOW_MAX_MS	  1000
#define NS_PER_MS		  UINT64_C(1000000)

/*
 * Parses a number such as 0.5. The C library's functions have new versions in glibc 2.38, which
 * older ones lack. Returns a negative number if the text is not a number.
 */
static double
settings_number(const char *text)
{
	double value = 0;
	double unit = 1;
	bool has_digits = false;

	for (; *text >= '0' && *text <= '9' && value < 1e6; text++, has_digits = true)
		value = 10 * value + (*text - '0');
	if (*text == '.')
	{
		for (text++; *text >= '0' && *text <= '9'; text++, has_digits = true)
		{
			unit /= 10;
			value += (*text - '0') * unit;
		}
	}
	return has_digits && *text == '\0' ? value : -1;
}

/* Reads a number within limits. Returns false if the variable has another value. */
static bool
settings_read_number(const char *name, double least, double most, double *value)
{
	const char *text = getenv(name);
	double number;

	if (text == NULL)
		return true;
	number = settings_number(text);
	if (number < least || number > most)
		return false;
	*value = number;
	return true;
}

const char *
gpu_settings_read(GpuSettings *settings)
{
	const char *name = getenv("PROFSTORE_GPU");
	const char *wrong = NULL;
	double percent = BUDGET_DEFAULT * 100;
	double window_ms = WINDOW_DEFAULT_MS;

	settings->is_off = name != NULL && strcmp(name, "off") == 0;
	if (name != NULL && !settings->is_off && strcmp(name, "on") != 0)
		wrong = "PROFSTORE_GPU";
	if (!settings_read_number("PROFSTORE_GPU_BUDGET", 0.001, BUDGET_MAX, &percent))
		wrong = "PROFSTORE_GPU_BUDGET";
	if (!settings_read_number("PROFSTORE_GPU_WINDOW_MS", WINDOW_MIN_MS, WINDOW_MAX_MS, &window_ms))
		wrong = "PROFSTORE_GPU_WINDOW_MS";
	settings->share = percent / 100;
	settings->window_ns = (uint64_t) window_ms * NS_PER_MS;
	settings->cupti = getenv("PROFSTORE_GPU_CUPTI");
	return wrong;
}
