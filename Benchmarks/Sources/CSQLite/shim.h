#ifndef SHEAF_BENCH_CSQLITE_H
#define SHEAF_BENCH_CSQLITE_H
// Declares the session extension, which the library must have been built with.
#define SQLITE_ENABLE_SESSION 1
#define SQLITE_ENABLE_PREUPDATE_HOOK 1
#include <sqlite3.h>

// Wraps `sqlite3_db_config`, because Swift cannot import variadic functions.
static inline int sheaf_bench_sqlite_keep_log(sqlite3 *database) {
    return sqlite3_db_config(database, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, (int *)0);
}
#endif
