import SheafStorage
import SheafTestSupport
import Testing

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

@Suite struct InspectionLengthTests {
    @Test func `a file may have the maximum length that offsets can address, but no more`() throws {
        // A base file has replaced the first segment, so only its length is checked.
        let name = FileName.name(ofSegment: 1)
        var files = try SmallStore.small(seed: 3).files
        #expect(files[name] == nil)
        files[name] = []
        for excess in [0, 1] {
            let length = Limits.maximumFileLength + excess
            let volume = LongFileVolume(SimulatedVolume(files: files), name, length)
            let result = try Verifier.verify(volume)
            #expect(result.isDamaged == (excess > 0), "\(result.findings)")
            for finding in result.findings where finding.severity == .damage {
                #expect(finding.file == name && finding.offset == Limits.maximumFileLength)
            }
        }
    }
}

/// A volume with one sparse file of zeros.
private final class LongFileVolume: Volume {
    private let base: SimulatedVolume
    private let name: String
    private let length: Int

    init(_ base: SimulatedVolume, _ name: String, _ length: Int) {
        self.base = base
        self.name = name
        self.length = length
    }

    var path: String { base.path }

    func names() throws(VolumeError) -> [String] { try base.names() }

    func open(_ name: String, _ access: FileAccess) throws(VolumeError) -> any VolumeFile {
        name == self.name ? LongFile(name: name, length: length) : try base.open(name, access)
    }

    func rename(_ name: String, to newName: String) throws(VolumeError) {
        try base.rename(name, to: newName)
    }

    func remove(_ name: String) throws(VolumeError) { try base.remove(name) }

    func synchronizeNamesOnce() throws(VolumeError) { try base.synchronizeNames() }

    func lock() throws(VolumeError) -> LockOutcome { try base.lock() }
}

private final class LongFile: VolumeFile {
    let name: String
    private let length: Int

    init(name: String, length: Int) {
        self.name = name
        self.length = length
    }

    func size() throws(VolumeError) -> Int { length }

    func read(
        into buffer: UnsafeMutableRawBufferPointer, at offset: Int
    ) throws(VolumeError) -> Int {
        min(buffer.count, max(length - offset, 0))
    }

    func write(_ bytes: UnsafeRawBufferPointer, at offset: Int) throws(VolumeError) -> Int {
        throw VolumeError(.write, name, .readOnlyFileSystem)
    }

    func synchronizeOnce() throws(VolumeError) {}

    func truncate(to size: Int) throws(VolumeError) {
        throw VolumeError(.truncate, name, .readOnlyFileSystem)
    }

    func map(length: Int, _ mode: MappingMode) throws(VolumeError) -> FileMapping {
        // Untouched pages use no memory.
        let address = mmap(nil, length, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)
        guard let address, address != MAP_FAILED else {
            throw VolumeError(.map, name, .inputOutput)
        }
        nonisolated(unsafe) let base = address
        return FileMapping(base: base, count: length) { munmap(base, length) }
    }

    func close() {}
}
