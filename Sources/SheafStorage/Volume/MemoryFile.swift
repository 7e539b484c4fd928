import SheafBytes
import Synchronization

/// A file of an in-memory volume.
final class MemoryFile: VolumeFile {
    /// The contents of a file, shared by all open files and mappings.
    final class Content: Sendable {
        /// The bytes of a file and their size.
        fileprivate struct State: Sendable {
            var size = 0
            var region = Region(capacity: 0)
            /// Former regions that may still be mapped; writes go to them as well.
            var outgrown: [WeakRegion] = []
        }

        fileprivate let state = Mutex(State())
    }

    /// Memory at a fixed address.
    fileprivate final class Region: Sendable {
        nonisolated(unsafe) let base: UnsafeMutableRawPointer
        let capacity: Int

        init(capacity: Int) {
            self.capacity = capacity
            base = .allocate(byteCount: max(capacity, 1), alignment: 16)
            UnsafeMutableRawBufferPointer(start: base, count: capacity).fillWithZeros()
        }

        deinit {
            base.deallocate()
        }

        /// Fills the bytes of a range with zeros, as far as there are any.
        func clear(from start: Int, to end: Int) {
            let end = min(end, capacity)
            guard start < end else { return }
            UnsafeMutableRawBufferPointer(start: base + start, count: end - start).fillWithZeros()
        }
    }

    /// A former region, which only its mappings keep alive.
    fileprivate struct WeakRegion: Sendable {
        weak let region: Region?
    }

    let name: String
    private let content: Content

    init(name: String, _ content: Content) {
        self.name = name
        self.content = content
    }

    func size() throws(VolumeError) -> Int { content.state.withLock { $0.size } }

    func read(
        into buffer: UnsafeMutableRawBufferPointer, at offset: Int
    ) throws(VolumeError) -> Int {
        let (region, size) = content.state.withLock { ($0.region, $0.size) }
        guard offset < size else { return 0 }
        let count = min(buffer.count, size - offset)
        // A write may replace the region meanwhile.
        withExtendedLifetime(region) {
            buffer.copyMemory(
                from: UnsafeRawBufferPointer(start: region.base + offset, count: count))
        }
        return count
    }

    func write(_ bytes: UnsafeRawBufferPointer, at offset: Int) throws(VolumeError) -> Int {
        guard let start = bytes.baseAddress, !bytes.isEmpty else { return 0 }
        // The bytes are borrowed for the duration of the call.
        nonisolated(unsafe) let source = start
        let count = bytes.count
        content.state.withLock { state in
            state.reserve(offset + count)
            (state.region.base + offset).copyMemory(from: source, byteCount: count)
            for case let region? in state.outgrown.map(\.region) where offset < region.capacity {
                // Its last mapping may be released meanwhile.
                withExtendedLifetime(region) {
                    (region.base + offset).copyMemory(
                        from: source, byteCount: min(count, region.capacity - offset))
                }
            }
            state.size = max(state.size, offset + count)
        }
        return count
    }

    func synchronizeOnce() throws(VolumeError) {}

    func truncate(to size: Int) throws(VolumeError) {
        content.state.withLock { state in
            state.reserve(size)
            // If the file grows again, the bytes must be zero.
            for case let region? in state.outgrown.map(\.region) + [state.region] {
                withExtendedLifetime(region) { region.clear(from: size, to: state.size) }
            }
            state.size = size
        }
    }

    func map(length: Int, _ mode: MappingMode) throws(VolumeError) -> FileMapping {
        let region = content.state.withLock { state in
            state.reserve(length)
            guard mode == .copyOnWrite else { return state.region }
            let copy = Region(capacity: length)
            copy.base.copyMemory(from: state.region.base, byteCount: min(length, state.size))
            return copy
        }
        return FileMapping(base: region.base, count: length) { withExtendedLifetime(region) {} }
    }

    func close() {}
}

extension MemoryFile.Content.State {
    /// Ensures that the region has a capacity of at least `length` bytes.
    fileprivate mutating func reserve(_ length: Int) {
        guard length > region.capacity else { return }
        let larger = MemoryFile.Region(capacity: max(length, 2 * region.capacity))
        larger.base.copyMemory(from: region.base, byteCount: size)
        outgrown.removeAll { $0.region == nil }
        outgrown.append(MemoryFile.WeakRegion(region: region))
        region = larger
    }
}
