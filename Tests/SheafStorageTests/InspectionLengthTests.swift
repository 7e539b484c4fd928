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
private final class LongFileVolume: ForwardingVolume {
    let inner: SimulatedVolume
    private let name: String
    private let length: Int

    init(_ inner: SimulatedVolume, _ name: String, _ length: Int) {
        self.inner = inner
        self.name = name
        self.length = length
    }

    func open(_ name: String, _ access: FileAccess) throws(VolumeError) -> any VolumeFile {
        name == self.name ? LongFile(name: name, length: length) : try inner.open(name, access)
    }
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
