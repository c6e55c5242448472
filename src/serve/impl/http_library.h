/* SPDX-License-Identifier: GPL-2.0-or-later */
/* libmicrohttpd, loaded when somebody serves. */
#ifndef SERVE_IMPL_HTTP_LIBRARY_H
#define SERVE_IMPL_HTTP_LIBRARY_H

#include <microhttpd.h>

#include "base/error.h"
#include "base/library.h"

#define HTTP_FUNCTIONS(X)                                                                          \
	X(MHD_start_daemon)                                                                        \
	X(MHD_stop_daemon)                                                                         \
	X(MHD_run)                                                                                 \
	X(MHD_get_timeout)                                                                         \
	X(MHD_get_daemon_info)                                                                     \
	X(MHD_get_connection_info)                                                                 \
	X(MHD_get_connection_values_n)                                                             \
	X(MHD_lookup_connection_value)                                                             \
	X(MHD_suspend_connection)                                                                  \
	X(MHD_resume_connection)                                                                   \
	X(MHD_create_response_from_buffer_with_free_callback_cls)                                  \
	X(MHD_add_response_header)                                                                 \
	X(MHD_queue_response)                                                                      \
	X(MHD_destroy_response)

/* Its functions, under their own names. */
struct http_library {
	HTTP_FUNCTIONS(LIBRARY_MEMBER)
};

/* As library_load(). */
struct error *http_library_load(struct http_library *ret) must_check_;

#endif
