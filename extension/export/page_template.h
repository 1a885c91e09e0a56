/*
 * page_template.h
 *		The flame-graph page without its data: built from page/ by page/build.js, UTF-8.
 */
#ifndef PFS_PAGE_TEMPLATE_H
#define PFS_PAGE_TEMPLATE_H

extern const char pfs_page_before_data[];
extern const char pfs_page_after_data[];

#endif
