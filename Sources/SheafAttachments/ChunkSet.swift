/// A set of chunks of a file, with one bit for each chunk.
package struct ChunkSet: Equatable, Sendable {
    /// Number of chunks of the file.
    package let count: Int
    package private(set) var bytes: [UInt8]
    /// Number of chunks in the set.
    package private(set) var filledCount: Int

    /// Creates an empty or a full set.
    package init(count: Int, isFull: Bool = false) {
        self.count = count
        bytes = [UInt8](repeating: 0, count: (count + 7) / 8)
        filledCount = 0
        guard isFull else { return }
        for chunk in 0..<count { insert(chunk) }
    }

    /// Decodes a set; nil if its length is wrong or a bit represents no chunk.
    package init?(count: Int, bytes: some Sequence<UInt8>) {
        self.count = count
        self.bytes = Array(bytes)
        guard self.bytes.count == (count + 7) / 8 else { return nil }
        filledCount = self.bytes.reduce(0) { $0 + $1.nonzeroBitCount }
        let surplus = self.bytes.count * 8 - count
        if surplus > 0, let last = self.bytes.last, last >> UInt8(8 - surplus) != 0 { return nil }
    }

    package var isFull: Bool { filledCount == count }

    package func contains(_ chunk: Int) -> Bool {
        0..<count ~= chunk && bytes[chunk / 8] & 1 << UInt8(chunk % 8) != 0
    }

    package mutating func insert(_ chunk: Int) {
        guard !contains(chunk) else { return }
        bytes[chunk / 8] |= 1 << UInt8(chunk % 8)
        filledCount += 1
    }

    package mutating func remove(_ chunk: Int) {
        guard contains(chunk) else { return }
        bytes[chunk / 8] &= ~(1 << UInt8(chunk % 8))
        filledCount -= 1
    }

    /// Returns the chunks that are not in the set, as at most `limit` ranges.
    package func missing(limit: Int) -> [Range<Int>] {
        var runs: [Range<Int>] = []
        var chunk = 0
        while chunk < count, runs.count < limit {
            guard !contains(chunk) else {
                chunk += 1
                continue
            }
            let start = chunk
            while chunk < count, !contains(chunk) { chunk += 1 }
            runs.append(start..<chunk)
        }
        return runs
    }
}
