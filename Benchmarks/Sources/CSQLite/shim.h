#ifndef SHEAF_BENCH_CSQLITE_H
#define SHEAF_BENCH_CSQLITE_H
// Sessions are in the library where it was built with them, and in the header where that is said.
#define SQLITE_ENABLE_SESSION 1
#define SQLITE_ENABLE_PREUPDATE_HOOK 1
#include <sqlite3.h>

// The configuration call takes variable arguments, which do not import.
static inline int sheaf_bench_sqlite_keep_log(sqlite3 *database) {
    return sqlite3_db_config(database, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, (int *)0);
}
#endif
