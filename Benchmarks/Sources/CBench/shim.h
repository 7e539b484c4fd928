#ifndef SHEAF_BENCH_SHIM_H
#define SHEAF_BENCH_SHIM_H
#include <malloc.h>
#include <stdint.h>
#include <sys/vfs.h>

// A volatile store cannot be optimized away, nor can the computation of its value.
static inline void sheaf_bench_sink(uint64_t value) {
    static volatile uint64_t sink;
    sink = value;
}

// Returns the magic number of the file system under a path, or zero on failure.
static inline uint32_t sheaf_bench_file_system(const char *path) {
    struct statfs status;
    return statfs(path, &status) == 0 ? (uint32_t)status.f_type : 0;
}

// Returns the number of allocated heap bytes.
static inline uint64_t sheaf_bench_allocated_bytes(void) {
    // Large blocks are mapped, and counted apart.
    struct mallinfo2 info = mallinfo2();
    return info.uordblks + info.hblkhd;
}
#endif
