#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

extension [UInt8] {
    /// Whether these bytes precede others in byte order.
    ///
    /// Hides the generic function of that name, which compares byte by byte.
    package func lexicographicallyPrecedes(_ other: [UInt8]) -> Bool {
        withUnsafeBytes { left in
            other.withUnsafeBytes { right in
                guard let first = left.baseAddress, let second = right.baseAddress else {
                    return left.count < right.count
                }
                let order = memcmp(first, second, Swift.min(left.count, right.count))
                return order == 0 ? left.count < right.count : order < 0
            }
        }
    }
}
