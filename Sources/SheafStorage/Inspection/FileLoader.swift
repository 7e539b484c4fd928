/// Brings a file into memory also where the disk refuses some of its bytes.
///
/// A mapping would end the process at the first bad sector; so every byte is read once before the
/// file is mapped, and what cannot be read shows as zeros.
enum FileLoader {
    struct Loaded {
        let mapping: FileMapping
        /// The length of the file, of which no more than the limit was loaded.
        let size: Int
        /// The bytes that the disk refused.
        let unreadable: [Range<Int>]
    }

    private static let sliceLength = 256 << 10
    private static let sectorLength = 4 << 10

    /// Loads a file, no more of it than a file of a log can have.
    static func load(_ name: String, from volume: any Volume) throws(VolumeError) -> Loaded {
        let file = try volume.open(name, .read)
        defer { file.close() }
        let size = try file.size()
        let length = min(size, Limits.maximumFileLength)
        let scratch = UnsafeMutableRawBufferPointer.allocate(
            byteCount: min(sliceLength, max(length, 1)), alignment: 4_096)
        defer { scratch.deallocate() }
        var refused: [Range<Int>] = []
        for start in stride(from: 0, to: length, by: sliceLength) {
            let slice = start..<min(start + sliceLength, length)
            if !canRead(slice, of: file, into: scratch) { refused.append(slice) }
        }
        guard !refused.isEmpty else {
            return Loaded(
                mapping: try file.map(length: length, .shared), size: size, unreadable: [])
        }
        return copy(file, length: length, size: size)
    }

    private static func canRead(
        _ range: Range<Int>, of file: any VolumeFile, into target: UnsafeMutableRawBufferPointer
    ) -> Bool {
        let part = UnsafeMutableRawBufferPointer(rebasing: target[..<range.count])
        return (try? file.readFully(into: part, at: range.lowerBound)) != nil
    }

    /// Reads sector by sector into memory of our own.
    private static func copy(_ file: any VolumeFile, length: Int, size: Int) -> Loaded {
        let copy = UnsafeMutableRawBufferPointer.allocate(byteCount: length, alignment: 4_096)
        copy.initializeMemory(as: UInt8.self, repeating: 0)
        var unreadable: [Range<Int>] = []
        for start in stride(from: 0, to: length, by: sectorLength) {
            let sector = start..<min(start + sectorLength, length)
            let target = UnsafeMutableRawBufferPointer(rebasing: copy[sector])
            guard !canRead(sector, of: file, into: target) else { continue }
            target.initializeMemory(as: UInt8.self, repeating: 0)
            if let last = unreadable.last, last.upperBound == sector.lowerBound {
                unreadable[unreadable.count - 1] = last.lowerBound..<sector.upperBound
            } else {
                unreadable.append(sector)
            }
        }
        guard let base = copy.baseAddress else {
            preconditionFailure("A file without bytes has none that cannot be read.")
        }
        nonisolated(unsafe) let memory = base
        return Loaded(
            mapping: FileMapping(base: memory, count: length) { memory.deallocate() }, size: size,
            unreadable: unreadable)
    }
}
