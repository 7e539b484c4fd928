#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// What tells a file or a directory from one that was put in its place: its number, and when it was
/// made, where the file system knows.
struct FileBirth {
    let inode: UInt64
    private(set) var seconds: Int64 = 0
    private(set) var nanoseconds: Int64 = 0

    /// Asks for an open file; none where the system does not answer.
    init?(of number: Int32) {
        var status = stat()
        guard fstat(number, &status) == 0 else { return nil }
        inode = UInt64(status.st_ino)
        #if canImport(Darwin)
            seconds = Int64(status.st_birthtimespec.tv_sec)
            nanoseconds = Int64(status.st_birthtimespec.tv_nsec)
        #else
            noteBirth(of: number)
        #endif
    }

    #if !canImport(Darwin)
        /// What `statx` is to callers: it is younger than the headers that Swift has read.
        private typealias Statx =
            @convention(c) (
                Int32, UnsafePointer<CChar>, Int32, UInt32, UnsafeMutableRawPointer
            ) -> Int32

        /// Where the answer has what; the kernel promises never to move it.
        private enum Layout {
            static let length = 256
            static let mask = 0
            static let birthSeconds = 80
            static let birthNanoseconds = 88
            static let birthBit: UInt32 = 0x800
        }

        private mutating func noteBirth(of number: Int32) {
            guard let symbol = dlsym(nil, "statx") else { return }
            let statx = unsafeBitCast(symbol, to: Statx.self)
            let emptyPath: Int32 = 0x1000
            let found: (Int64, Int64)? = withUnsafeTemporaryAllocation(
                byteCount: Layout.length, alignment: 8
            ) { answer in
                guard let base = answer.baseAddress,
                    statx(number, "", emptyPath, Layout.birthBit, base) == 0,
                    base.load(fromByteOffset: Layout.mask, as: UInt32.self) & Layout.birthBit != 0
                else { return nil }
                return (
                    base.load(fromByteOffset: Layout.birthSeconds, as: Int64.self),
                    Int64(base.load(fromByteOffset: Layout.birthNanoseconds, as: UInt32.self))
                )
            }
            guard let found else { return }
            (seconds, nanoseconds) = found
        }
    #endif
}
