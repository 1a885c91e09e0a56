/*
 * page_template.h
 *		The flame-graph page without its data, in UTF-8. page/build.js builds it from the files in
 *		page/.
 */
#ifndef PFS_PAGE_TEMPLATE_H
#define PFS_PAGE_TEMPLATE_H

extern const char pfs_page_before_data[];
extern const char pfs_page_after_data[];

#endif
