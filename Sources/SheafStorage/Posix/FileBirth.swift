import SheafBytes

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// The inode and creation time of a file or directory, which distinguish it from a replacement.
package struct FileBirth {
    package let inode: UInt64
    /// The creation time; zero if the file system does not record it.
    private var seconds: Int64 = 0
    private var nanoseconds: Int64 = 0
    /// The time of the last change of contents or attributes, which programs cannot set.
    private let changeSeconds: Int64
    private let changeNanoseconds: Int64
    /// The Btrfs subvolume, because a snapshot of a subvolume repeats all inode numbers.
    private var subvolume: UInt64 = 0

    /// Seconds and nanoseconds since 1970, as in `timespec`.
    package typealias Moment = (seconds: Int64, nanoseconds: Int64)

    /// The value of `f_type` in `statfs` for Btrfs.
    package static let btrfs: UInt32 = 0x9123_683E

    package init(inode: UInt64, birth: Moment, change: Moment) {
        self.inode = inode
        (seconds, nanoseconds) = birth
        (changeSeconds, changeNanoseconds) = change
    }

    /// Sets the identifier of the file system, which on Btrfs identifies the subvolume.
    ///
    /// On other file systems it is ignored, because it may change with each mount.
    package mutating func addFileSystem(fileSystem identifier: UInt64, ofType type: UInt32) {
        if type == Self.btrfs { subvolume = identifier }
    }

    /// Reads the inode and the times of an open file; nil if `fstat` fails.
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
            readBirthTime(of: number)
            readSubvolume(of: number)
        #endif
    }

    /// The hash of all values that do not change while the file exists; never zero.
    package var hash: UInt64 {
        withUnsafeBytes(of: (inode, seconds, nanoseconds, subvolume)) { max(XXH3.hash64($0), 1) }
    }

    /// The hash of all values, which changes with the contents and attributes; never zero.
    package var hashWithChange: UInt64 {
        withUnsafeBytes(of: (hash, changeSeconds, changeNanoseconds)) { max(XXH3.hash64($0), 1) }
    }

    #if !canImport(Darwin)
        /// The type of `fstatfs`, which the headers visible to Swift do not declare.
        private typealias Fstatfs = @convention(c) (Int32, UnsafeMutableRawPointer) -> Int32

        /// The offsets of fields in the result of `fstatfs` on 64-bit machines.
        private enum FileSystem {
            static let length = 256
            static let type = 0
            static let identifier = 56
        }

        /// Reads the subvolume of the file.
        private mutating func readSubvolume(of number: Int32) {
            guard Int.bitWidth == 64, let symbol = dlsym(nil, "fstatfs") else { return }
            let fstatfs = unsafeBitCast(symbol, to: Fstatfs.self)
            withUnsafeTemporaryAllocation(byteCount: FileSystem.length, alignment: 8) { answer in
                guard let base = answer.baseAddress, fstatfs(number, base) == 0 else { return }
                addFileSystem(
                    fileSystem: base.load(fromByteOffset: FileSystem.identifier, as: UInt64.self),
                    ofType: base.load(fromByteOffset: FileSystem.type, as: UInt32.self))
            }
        }

        /// The type of `statx`, which the headers visible to Swift do not declare.
        private typealias Statx =
            @convention(c) (
                Int32, UnsafePointer<CChar>, Int32, UInt32, UnsafeMutableRawPointer
            ) -> Int32

        /// The offsets of fields in the result of `statx`, part of the kernel's interface.
        private enum Layout {
            static let length = 256
            static let mask = 0
            static let birthSeconds = 80
            static let birthNanoseconds = 88
            static let birthBit: UInt32 = 0x800
        }

        private mutating func readBirthTime(of number: Int32) {
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
