/*
 * ruby_layout.h
 *		Offsets in Ruby's structures, by version: 2.5 to 3.4 on 64-bit machines.
 */
#ifndef COLLECTOR_RUBY_LAYOUT_H
#define COLLECTOR_RUBY_LAYOUT_H

#include <stdbool.h>
#include <stdint.h>

typedef struct RubyLayout
{
	uint8_t major;
	uint8_t minor;
	uint8_t frame_bytes; /* size of a control frame */
	uint8_t line_bytes;	 /* size of an entry in the table of lines */
	uint16_t lines;		 /* offset in the body: pointer to the table of lines */
	uint16_t line_count; /* offset in the body: number of its entries */
	/* offset in the body: bitmap of positions; 0: entries contain positions */
	uint16_t ranks;
	bool first_line_tagged; /* the first line is stored as a Fixnum object */
	bool has_variable;		/* the execution context is a thread-local variable */
	/* short strings, too, have their length in a word before the characters */
	bool string_length;
	uint32_t singleton; /* flag of singleton classes; 0: names of classes are not read */
} RubyLayout;

/* Limit of the bytes that are read of a body. */
#define RUBY_BODY_BYTES 208

/* Offsets in a class: the object of which it is the singleton class, and its name. */
#define RUBY_CLASS_OBJECT 128
#define RUBY_CLASS_NAME	  152
#define RUBY_CLASS_BYTES  160

/* Returns NULL if the version is unknown. */
const RubyLayout *ruby_layout_of_version(int32_t major, int32_t minor);

#endif
