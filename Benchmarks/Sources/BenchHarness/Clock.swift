import CBench
import Glibc

/// Returns the monotonic time in nanoseconds.
@inline(__always)
package func now() -> UInt64 {
    var time = timespec()
    clock_gettime(CLOCK_MONOTONIC, &time)
    return UInt64(time.tv_sec) * 1_000_000_000 + UInt64(time.tv_nsec)
}

/// Returns the seconds since `start`.
package func seconds(since start: UInt64) -> Double {
    Double(now() - start) / 1e9
}

/// Returns the number of allocated heap bytes.
package func allocatedBytes() -> UInt64 {
    sheaf_bench_allocated_bytes()
}

/// Consumes `value` in a way that the optimizer cannot remove.
@inline(__always)
package func sink(_ value: UInt64) {
    sheaf_bench_sink(value)
}
