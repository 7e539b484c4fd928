import SheafBytes

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// What tells a file or a directory from one that was put in its place: its number, and when it was
/// made, where the file system knows.
package struct FileBirth {
    package let inode: UInt64
    /// When it was made; 0 where the file system does not know.
    private var seconds: Int64 = 0
    private var nanoseconds: Int64 = 0
    /// When the contents or the attributes changed last, which no program can choose.
    private let changeSeconds: Int64
    private let changeNanoseconds: Int64
    /// The subvolume, on file systems where a snapshot repeats the numbers of all files.
    private var subvolume: UInt64 = 0

    /// Seconds and nanoseconds since 1970, as in `timespec`.
    package typealias Moment = (seconds: Int64, nanoseconds: Int64)

    /// `f_type` of Btrfs in `statfs`.
    package static let btrfs: UInt32 = 0x9123_683E

    package init(inode: UInt64, birth: Moment, change: Moment) {
        self.inode = inode
        (seconds, nanoseconds) = birth
        (changeSeconds, changeNanoseconds) = change
    }

    /// Notes the identifier of the file system, which is that of the subvolume on Btrfs; elsewhere it may change
    /// with each mount.
    package mutating func note(fileSystem identifier: UInt64, ofType type: UInt32) {
        if type == Self.btrfs { subvolume = identifier }
    }

    /// Reads the values of an open file; nil where the system does not have them.
    init?(of number: Int32) {
        var status = stat()
        guard fstat(number, &status) == 0 else { return nil }
        inode = UInt64(status.st_ino)
        #if canImport(Darwin)
            changeSeconds = Int64(status.st_ctimespec.tv_sec)
            changeNanoseconds = Int64(status.st_ctimespec.tv_nsec)
            seconds = Int64(status.st_birthtimespec.tv_sec)
            nanoseconds = Int64(status.st_birthtimespec.tv_nsec)
        #else
            changeSeconds = Int64(status.st_ctim.tv_sec)
            changeNanoseconds = Int64(status.st_ctim.tv_nsec)
            noteBirth(of: number)
            noteSubvolume(of: number)
        #endif
    }

    /// The hash of what stays while the file has this number; never 0.
    package var hash: UInt64 {
        withUnsafeBytes(of: (inode, seconds, nanoseconds, subvolume)) { max(XXH3.hash64($0), 1) }
    }

    /// The hash of what stays until the file is written once more; never 0.
    package var hashWithChange: UInt64 {
        withUnsafeBytes(of: (hash, changeSeconds, changeNanoseconds)) { max(XXH3.hash64($0), 1) }
    }

    #if !canImport(Darwin)
        /// What `fstatfs` is to callers: the headers that Swift has read do not declare it.
        private typealias Fstatfs = @convention(c) (Int32, UnsafeMutableRawPointer) -> Int32

        /// Where the answer has what, on machines of 64 bits.
        private enum FileSystem {
            static let length = 256
            static let type = 0
            static let identifier = 56
        }

        /// Asks for the file system of the file.
        private mutating func noteSubvolume(of number: Int32) {
            guard Int.bitWidth == 64, let symbol = dlsym(nil, "fstatfs") else { return }
            let fstatfs = unsafeBitCast(symbol, to: Fstatfs.self)
            withUnsafeTemporaryAllocation(byteCount: FileSystem.length, alignment: 8) { answer in
                guard let base = answer.baseAddress, fstatfs(number, base) == 0 else { return }
                note(
                    fileSystem: base.load(fromByteOffset: FileSystem.identifier, as: UInt64.self),
                    ofType: base.load(fromByteOffset: FileSystem.type, as: UInt32.self))
            }
        }

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
