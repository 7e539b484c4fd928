#ifndef SHEAF_MICROHTTPD_SHIM_H
#define SHEAF_MICROHTTPD_SHIM_H
#include <microhttpd.h>

// Swift cannot call functions with variable arguments, nor see macros with casts, and the names of
// the cases of these enumerations depend on the compiler.

static const enum MHD_Result sheaf_http_yes = MHD_YES;
static const enum MHD_Result sheaf_http_no = MHD_NO;
static const enum MHD_ValueKind sheaf_http_header = MHD_HEADER_KIND;
static const enum MHD_ResponseMemoryMode sheaf_http_copy = MHD_RESPMEM_MUST_COPY;
static const enum MHD_ConnectionNotificationCode sheaf_http_started = MHD_CONNECTION_NOTIFY_STARTED;
static const ssize_t sheaf_http_end_of_stream = MHD_CONTENT_READER_END_OF_STREAM;
static const ssize_t sheaf_http_end_with_error = MHD_CONTENT_READER_END_WITH_ERROR;
static const uint64_t sheaf_http_unknown_size = MHD_SIZE_UNKNOWN;

// The functions that the server calls, all of them with `owner` as first argument.
struct sheaf_http_callbacks {
    MHD_AccessHandlerCallback access;
    void *(*begin)(void *owner, const char *uri, struct MHD_Connection *connection);
    MHD_RequestCompletedCallback complete;
    MHD_NotifyConnectionCallback notify;
    void *owner;
};

// Starts a server whose only thread waits for all connections; returns NULL if it cannot.
static inline struct MHD_Daemon *sheaf_http_start(
    const struct sockaddr *address, int is_ipv6, unsigned int connections, unsigned int seconds,
    size_t memory, const struct sheaf_http_callbacks *callbacks) {
    return MHD_start_daemon(
        MHD_USE_AUTO | MHD_USE_INTERNAL_POLLING_THREAD | MHD_ALLOW_SUSPEND_RESUME
            | (is_ipv6 ? MHD_USE_IPv6 : 0),
        0, NULL, NULL, callbacks->access, callbacks->owner,
        MHD_OPTION_SOCK_ADDR, address, MHD_OPTION_CONNECTION_LIMIT, connections,
        MHD_OPTION_CONNECTION_TIMEOUT, seconds, MHD_OPTION_CONNECTION_MEMORY_LIMIT, memory,
        MHD_OPTION_STRICT_FOR_CLIENT, 1,
        MHD_OPTION_URI_LOG_CALLBACK, callbacks->begin, callbacks->owner,
        MHD_OPTION_NOTIFY_COMPLETED, callbacks->complete, callbacks->owner,
        MHD_OPTION_NOTIFY_CONNECTION, callbacks->notify, callbacks->owner,
        MHD_OPTION_END);
}

// Returns the port that the server listens on.
static inline uint16_t sheaf_http_port(struct MHD_Daemon *server) {
    const union MHD_DaemonInfo *info = MHD_get_daemon_info(server, MHD_DAEMON_INFO_BIND_PORT);
    return info == NULL ? 0 : info->port;
}

// Returns the socket of a connection; -1 if there is none.
static inline int sheaf_http_socket(struct MHD_Connection *connection) {
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
    return info == NULL ? -1 : (int)info->connect_fd;
}
#endif
