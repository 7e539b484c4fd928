import SheafBytes

/// A loader of files on disks with bad sectors.
///
/// Accessing a bad sector through a mapping would kill the process. Every byte is therefore read
/// once before the file is mapped; unreadable bytes become zeros in a copy.
enum FileLoader {
    /// The contents of a loaded file.
    struct Loaded {
        let mapping: FileMapping
        /// The length of the file, which may exceed the length of the mapping.
        let size: Int
        /// The byte ranges that could not be read.
        let unreadable: [Range<Int>]
    }

    private static let sliceLength = 256 << 10
    private static let sectorLength = 4 << 10

    /// Loads at most `Limits.maximumFileLength` bytes of a file.
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

    /// Copies the readable sectors of a file into memory.
    private static func copy(_ file: any VolumeFile, length: Int, size: Int) -> Loaded {
        let copy = UnsafeMutableRawBufferPointer.allocate(byteCount: length, alignment: 4_096)
        copy.fillWithZeros()
        var unreadable: [Range<Int>] = []
        for start in stride(from: 0, to: length, by: sectorLength) {
            let sector = start..<min(start + sectorLength, length)
            let target = UnsafeMutableRawBufferPointer(rebasing: copy[sector])
            guard !canRead(sector, of: file, into: target) else { continue }
            target.fillWithZeros()
            if let last = unreadable.last, last.upperBound == sector.lowerBound {
                unreadable[unreadable.count - 1] = last.lowerBound..<sector.upperBound
            } else {
                unreadable.append(sector)
            }
        }
        guard let base = copy.baseAddress else {
            preconditionFailure("An empty file has no unreadable bytes.")
        }
        nonisolated(unsafe) let memory = base
        return Loaded(
            mapping: FileMapping(base: memory, count: length) { memory.deallocate() }, size: size,
            unreadable: unreadable)
    }
}
