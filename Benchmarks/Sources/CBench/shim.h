#ifndef SHEAF_BENCH_SHIM_H
#define SHEAF_BENCH_SHIM_H
#include <malloc.h>
#include <stdint.h>
#include <sys/vfs.h>

// A volatile store is the one thing that an optimizer must keep, and with it what it computed.
static inline void sheaf_bench_sink(uint64_t value) {
    static volatile uint64_t sink;
    sink = value;
}

// The number of the kind of file system under a path; zero where there is none.
static inline uint32_t sheaf_bench_file_system(const char *path) {
    struct statfs status;
    return statfs(path, &status) == 0 ? (uint32_t)status.f_type : 0;
}

// The bytes that were allocated and not freed.
static inline uint64_t sheaf_bench_allocated_bytes(void) { return mallinfo2().uordblks; }
#endif
