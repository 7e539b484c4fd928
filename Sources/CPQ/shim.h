#ifndef SHEAF_PQ_SHIM_H
#define SHEAF_PQ_SHIM_H
#include <libpq-fe.h>

// The fields of errors and notices; Swift does not see these macros as numbers of the right type.
static const int sheaf_pq_state = PG_DIAG_SQLSTATE;
static const int sheaf_pq_severity = PG_DIAG_SEVERITY_NONLOCALIZED;
static const int sheaf_pq_message = PG_DIAG_MESSAGE_PRIMARY;
static const int sheaf_pq_detail = PG_DIAG_MESSAGE_DETAIL;
#endif
