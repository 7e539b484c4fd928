#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

extension UnsafeMutableRawBufferPointer {
    /// Sets all bytes to zero.
    package func fillWithZeros() {
        guard let baseAddress else { return }
        memset(baseAddress, 0, count)
    }
}
