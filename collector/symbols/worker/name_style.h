/*
 * name_style.h
 *		How names of functions are shown. The linkage name is stored in any case.
 */
#ifndef COLLECTOR_NAME_STYLE_H
#define COLLECTOR_NAME_STYLE_H

typedef enum NameStyle
{
	NAME_STYLE_FULL,
	NAME_STYLE_SIMPLE, /* C++ without template arguments and parameters */
	NAME_STYLE_NONE,   /* the linkage name */
} NameStyle;

#define NAME_STYLE_CHOICES "full", "simple", "none" /* in the order of NameStyle */

#endif
