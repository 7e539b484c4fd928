#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// An open file of the operating system.
final class PosixFile: VolumeFile {
    /// The maximum number of bytes per call; some systems reject more than two gibibytes.
    private static let maximumTransfer = 1 << 30

    let name: String
    private let descriptor: Descriptor

    /// Takes over an open descriptor; `name` appears in errors.
    init(name: String, descriptor: Descriptor) {
        self.name = name
        self.descriptor = descriptor
    }

    func size() throws(VolumeError) -> Int {
        try descriptor.call(.size, name) { number in
            var status = stat()
            return fstat(number, &status) == 0 ? Int(status.st_size) : -1
        }
    }

    func read(
        into buffer: UnsafeMutableRawBufferPointer, at offset: Int
    ) throws(VolumeError) -> Int {
        try descriptor.call(.read, name) { number in
            pread(
                number, buffer.baseAddress, min(buffer.count, Self.maximumTransfer), off_t(offset))
        }
    }

    func write(_ bytes: UnsafeRawBufferPointer, at offset: Int) throws(VolumeError) -> Int {
        try descriptor.call(.write, name) { number in
            pwrite(number, bytes.baseAddress, min(bytes.count, Self.maximumTransfer), off_t(offset))
        }
    }

    func synchronizeOnce() throws(VolumeError) {
        try descriptor.call(.synchronize, name) { Int(Descriptor.synchronizeData($0)) }
    }

    func truncate(to size: Int) throws(VolumeError) {
        try descriptor.call(.truncate, name) { number in
            Int(Descriptor.retryingInterruptions { ftruncate(number, off_t(size)) })
        }
    }

    func map(length: Int, _ mode: MappingMode) throws(VolumeError) -> FileMapping {
        let protection: Int32
        let flags: Int32
        switch mode {
        case .shared: (protection, flags) = (PROT_READ, MAP_SHARED)
        case .copyOnWrite: (protection, flags) = (PROT_READ | PROT_WRITE, MAP_PRIVATE)
        }
        var mapped: UnsafeMutableRawPointer?
        try descriptor.call(.map, name) { number in
            // The system rejects empty mappings; the descriptor call still fails after `close`.
            guard length != 0 else { return 0 }
            let address = mmap(nil, length, protection, flags, number, 0)
            guard address != MAP_FAILED else { return -1 }
            mapped = address
            return 0
        }
        guard let mapped else { return Self.emptyMapping() }
        nonisolated(unsafe) let base = mapped
        return FileMapping(base: base, count: length) { munmap(base, length) }
    }

    func close() {
        descriptor.close()
    }

    /// Returns a mapping of zero bytes with a valid address.
    private static func emptyMapping() -> FileMapping {
        nonisolated(unsafe) let base = UnsafeMutableRawPointer.allocate(byteCount: 1, alignment: 16)
        return FileMapping(base: base, count: 0) { base.deallocate() }
    }
}
